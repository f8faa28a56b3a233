package main

import (
	"io"
	"strings"
	"testing"

	"tenure/internal/docs"
)

// TestTheDocumentsShowCommandsThatExist checks each command line of kvctl in the module's documents against the program.
func TestTheDocumentsShowCommandsThatExist(t *testing.T) {
	pages, err := docs.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	lines := docs.Commands(pages, "kvctl")
	if len(lines) < 10 {
		t.Fatalf("found %d command lines only", len(lines))
	}
	for _, l := range lines {
		if err := docs.Check(newRoot(newApp(nil, nil, io.Discard, io.Discard)), l.Text); err != nil {
			t.Errorf("%s: kvctl %s: %v", l.At(), l.Text, err)
		}
	}
}

// TestEveryVerbIsInTheDocuments looks at the first column of the table of docs/kvctl.md.
func TestEveryVerbIsInTheDocuments(t *testing.T) {
	pages, err := docs.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{"help": true}
	for _, p := range pages {
		if p.Path != "docs/kvctl.md" {
			continue
		}
		for _, row := range p.Table("Verbs") {
			for _, line := range docs.Spans(row[0]) {
				for _, name := range strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '|' }) {
					named[name] = true
				}
			}
		}
	}
	for _, c := range newRoot(newApp(nil, nil, io.Discard, io.Discard)).Commands() {
		if c.Name() == "completion" {
			continue // cobra's own, with a command for each shell
		}
		for _, c := range append(c.Commands(), c) {
			if !c.Hidden && !named[c.Name()] {
				t.Errorf("docs/kvctl.md does not name %s", c.CommandPath())
			}
		}
	}
}
