package audit

import (
	"fmt"
	"strings"
	"testing"
)

// A line has each object once, and at most 4 KiB of names. A longer one is cut. The line of a denied act has one.
func TestNames(t *testing.T) {
	var many, long Names
	for i := range 1000 {
		many.Add("name 0000", fmt.Sprintf("name %04d", i))
	}
	long.Add(strings.Repeat("x", 2*maxNameBytes), "short")
	for _, c := range []struct {
		of         *Names
		outcome    Outcome
		keys, more int
	}{
		{&Names{}, Done, 0, 0}, {&many, Done, maxNameBytes / 9, 1000 - maxNameBytes/9}, {&many, Denied, 1, 999},
		{&long, Unknown, 1, 1}, {&long, Denied, 1, 1},
	} {
		r := Record{Outcome: c.outcome}
		c.of.Put(&r)
		if bytes := len(strings.Join(r.Keys, "")); len(r.Keys) != c.keys || r.More != c.more || bytes > maxNameBytes {
			t.Errorf("%s: %d keys of %d bytes and %d more, want %d and %d", c.outcome, len(r.Keys), bytes, r.More, c.keys, c.more)
		}
	}
}
