// Package mutants breaks the rules one by one and reports whether the tests notice.
//
// A mutant is a patch of the production code (or of a checker) that breaks one rule, or a pair of them where one covers
// for the other. It is built with `go test -overlay`, so that the tree does not change. Most mutants share one program
// that chooses among them when it starts (joint.go). The killers of a mutant are run, and each must fail. A killer is a
// test: a search (explorer, simulator, random schedules), a schedule that plays the trace of a search, the test of the
// rule, a crash test of storage, or the stories of a checker. The same killers are run on the unchanged code first, and
// must pass there.
//
// Inconclusive results are failures: a survivor, a patch that no longer applies, a mutant that does not compile, a
// time-out. So is a killer that is skipped, finds no test or fails for another reason than the stated one.
//
//	mutants.toml   the table: rule, patches, killers
//	patches/       one file a patch; see patch.go for the format
//	results.toml   what killed what, after how much: written by the tool with --update
//	TABLE.md       the same as a table for people: written by the tool with --update
//
// Nothing here imports the code that is mutated.
package mutants
