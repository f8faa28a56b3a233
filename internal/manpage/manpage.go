// Package manpage writes the manual pages of a program from its commands, as pages of man or in Markdown, so that they
// say what the program's own help says. Only builds with the tag man import it: no released program contains it or its
// dependencies.
package manpage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Main writes a page for root and for each of its commands to the directory that is the program's argument, and ends the
// program: pages of man, or Markdown if a second argument says so. The former have the date of the environment variable
// SOURCE_DATE_EPOCH, if that is set. section is that of the manual: 1 for commands, 8 for daemons.
func Main(root *cobra.Command, section string) {
	args := os.Args[1:]
	if len(args) != 1 && (len(args) != 2 || args[1] != "markdown") {
		fmt.Fprintf(os.Stderr, "usage: %s DIR [markdown]\n", os.Args[0])
		os.Exit(2)
	}
	var err error
	if len(args) == 2 {
		err = writeMarkdown(root, args[0])
	} else {
		err = write(root, section, args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func write(root *cobra.Command, section, dir string) error {
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	indent(root)
	err := doc.GenManTree(root, &doc.GenManHeader{Section: section, Source: "Tenure", Manual: "Tenure"}, dir)
	if err != nil {
		return err
	}
	return plainDots(dir)
}

// plainDots writes "..." for "…" in the pages of dir: in the C locale man shows nothing for the latter.
func plainDots(dir string) error {
	pages, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err == nil {
			err = os.WriteFile(page, bytes.ReplaceAll(text, []byte("…"), []byte("...")), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeMarkdown(root *cobra.Command, dir string) error {
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	indent(root)
	return doc.GenMarkdownTree(root, dir)
}

// indent has lines that a text indents by two spaces stay lines of their own: Markdown, as which the generator reads a
// text, needs four.
func indent(c *cobra.Command) {
	lines := strings.Split(c.Long, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "  ") {
			lines[i] = "  " + l
		}
	}
	c.Long = strings.Join(lines, "\n")
	for _, sub := range c.Commands() {
		indent(sub)
	}
}
