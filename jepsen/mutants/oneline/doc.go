// Package oneline looks for holes in the tests: it changes one line of the production code at a time and runs the
// tests that reach it. A change that no test notices is a survivor. Package mutants beside it holds the rules that
// must have a killer; this one searches where nobody has thought of a rule.
//
// A run goes like this:
//
//  1. operators.go reads the packages and lists every change it can make: conditions, arithmetic, constants,
//     statements, results, operands, elements of literals.
//  2. draw.go takes the mutants of the named files, or as many as asked for by a seed. check.go drops and counts
//     those that do not compile, with go/types, so that none costs a build.
//  3. schema.go writes all mutants of a function beside it, as copies, and has the function call the one that the
//     environment names. So each test binary is built once for all mutants, with `go test -overlay`. A change
//     outside functions, of a constant say, cannot be chosen at run time: it is built by itself.
//  4. baseline.go runs every test once, alone, without a mutant, and notes how long it takes and which functions it
//     calls. It must pass.
//  5. hunt.go runs, for each mutant, the tests that call its function, the quickest first, until one fails. The
//     failing test runs a second time before it counts. A test that takes far longer than without the mutant, or
//     far more memory, has noticed too.
//
// Results are appended to a file, one line of JSON a mutant, so that a run that was ended goes on where it was.
// Survivors that do not change what the program does are listed in equal.toml with the reason.
//
// Tests that compare the hash of a whole trace notice any change and say nothing about it; they are left out.
package oneline
