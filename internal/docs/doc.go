// Package docs reads the module's documents for the tests that hold them to the code: links lead somewhere, named files
// exist, and command lines can be typed. It is used by tests only.
//
//   - page.go: reads a page and finds its headings, links and code.
//   - command.go: finds the command lines of a program, and checks them against the program's commands and flags.
//   - docs_test.go: links, paths, names of Go, of metrics and of flags, dependencies.
//
// Package blocks, below, runs the command blocks of the documents. The command lines of a program are checked in its
// own package, where its commands can be had without building it.
package docs
