package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"tenure/internal/docs"
)

// TestTheDocumentsShowCommandsThatExist checks each command line of kvnode in the module's documents against the program.
func TestTheDocumentsShowCommandsThatExist(t *testing.T) {
	pages, err := docs.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	lines := docs.Commands(pages, "kvnode")
	if len(lines) < 10 {
		t.Fatalf("found %d command lines only", len(lines))
	}
	for _, l := range lines {
		if err := docs.Check(newRoot(nil, io.Discard, io.Discard), l.Text); err != nil {
			t.Errorf("%s: kvnode %s: %v", l.At(), l.Text, err)
		}
	}
}

func TestEveryFlagIsInTheDocuments(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	newRoot(nil, io.Discard, io.Discard).Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "version" && !strings.Contains(string(text), "`--"+f.Name+"`") && !strings.Contains(string(text), "`--"+f.Name+" ") {
			t.Errorf("docs/operations.md does not name --%s", f.Name)
		}
	})
}
