package devcluster

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// TestTheTokenIsMadeOnce: only its owner reads it, and it stays.
func TestTheTokenIsMadeOnce(t *testing.T) {
	name := TokenFile(t.TempDir())
	var before string
	for range 2 {
		if err := MakeToken(name); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(name)
		if err != nil || uuid.Validate(strings.TrimSpace(string(b))) != nil || before != "" && before != string(b) {
			t.Fatalf("%q, %v", b, err)
		}
		before = string(b)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if !slices.Contains((&Node{Token: name}).OwnArgs(nil), "--acl") || slices.Contains((&Node{}).OwnArgs(nil), "--acl") {
		t.Error("--acl goes with a token")
	}
}
