// Package arrows keeps the module in order: which package may import which, and what a pure package may contain. It is
// tooling for a test and nothing imports it.
//
//	packages.go   the table of packages: the test fails until a new package is added there, deliberately
//	tree.go       reads the module's sources: in this process, not through the go command, so that the go command's
//	              test cache notices every change of them
//	imports.go    the arrows between packages, and the outside modules that only some packages may import; none of
//	              these is allowed in vain
//	purity.go     no goroutine, channel, lock, clock, disk, socket or global randomness in a pure package
//	maporder.go   nothing in a pure package ordered by map iteration
//	typecheck.go  the types that purity.go and maporder.go need
//
// A loop over a map is allowed in a pure package where its order cannot matter and a comment on its line, or on the
// line above, says why:
//
//	//unordered: only counts
//	for range m {
package arrows
