// Package arrows keeps the house in order: which room may import which, and what a pure room may contain. It is
// tooling for a test and nothing imports it.
//
//   - rooms.go: the table of rooms. A new package is added there, deliberately, or the test fails.
//   - tree.go: reads the module's sources. It reads them in this process, not through the go command, so that the
//     go command's test cache notices every change of them.
//   - imports.go: the arrows between rooms, and the outside modules that only some rooms may import.
//   - purity.go: no goroutine, channel, lock, clock, disk, socket or global randomness in a pure room.
//   - maporder.go: nothing in a pure room ordered by map iteration.
//   - typecheck.go: the types that purity.go and maporder.go need.
//
// A loop over a map is allowed in a pure room where its order cannot matter and a comment on its line, or on the
// line above, says why:
//
//	//unordered: only counts
//	for range m {
package arrows
