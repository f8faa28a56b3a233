package main

import (
	"testing"

	"tenure/internal/docs"
)

// TestTheDocumentsShowCommandsThatExist checks each command line of this program in the module's documents.
func TestTheDocumentsShowCommandsThatExist(t *testing.T) {
	pages, err := docs.Load("..")
	if err != nil {
		t.Fatal(err)
	}
	lines := docs.Commands(pages, "jepsen")
	if len(lines) < 20 {
		t.Fatalf("found %d command lines only", len(lines))
	}
	for _, l := range lines {
		if err := docs.Check(root(), l.Text); err != nil {
			t.Errorf("%s: jepsen %s: %v", l.At(), l.Text, err)
		}
	}
}
