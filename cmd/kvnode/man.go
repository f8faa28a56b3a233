//go:build man

package main

import (
	"os"

	"tenure/internal/manpage"
)

// Built with the tag man the program writes its manual pages, and does nothing else.
func init() { manpage.Main(newRoot(nil, os.Stdout, os.Stderr), "8") }
