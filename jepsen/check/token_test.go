package check

import (
	"slices"
	"testing"
	"time"

	"tenure/jepsen/history"
)

// tokenStory is what a client does under one token: two writes, one more at its end, one refused, and a list.
func tokenStory() []history.Op {
	put := func(key string, from, to int, outcome history.Outcome) history.Op {
		return history.Op{Kind: history.Put, Key: "revoked/t/" + key, Value: "v", Outcome: outcome,
			Call: time.Duration(from), Return: time.Duration(to)}
	}
	overlapping := put("c", 25, 0, history.Info)
	overlapping.Return = history.Forever
	return []history.Op{
		put("a", 1, 2, history.OK), put("b", 3, 4, history.OK), overlapping, put("d", 40, 41, history.Fail),
		{Kind: history.Revoke, Key: "revoked/t/", Result: 30, Outcome: history.OK, Call: 20, Return: 30},
		{Kind: history.List, Key: "revoked/t/", Outcome: history.OK, Call: 90, Return: 91, Entries: []history.Entry{
			{Key: "revoked/t/a", Modify: 11}, {Key: "revoked/t/b", Modify: 12}, {Key: "revoked/t/c", Modify: 29}}},
	}
}

func TestWritesUnderATokenThatEnds(t *testing.T) {
	r := Tokens(tokenStory())
	if len(r.Problems) != 0 || r.Counts[WrittenBefore] != 2 || r.Counts[RefusedAfter] != 1 || r.Checked != 4 || r.Keys != 1 {
		t.Fatalf("a good history: %+v", r)
	}
	const list = 5
	for name, c := range map[string]struct {
		kind string
		do   func([]history.Op)
	}{
		"acknowledged after the end": {"write under an ended token", func(ops []history.Op) { ops[3].Outcome = history.OK }},
		"shown after the end": {"seen write of an ended token", func(ops []history.Op) {
			ops[3].Outcome = history.Info
			ops[list].Entries = append(ops[list].Entries, history.Entry{Key: "revoked/t/d", Modify: 13})
		}},
		"applied after the deletion": {"applied after the deletion", func(ops []history.Op) { ops[list].Entries[2].Modify = 31 }},
		"refused and shown": {"seen write that was refused", func(ops []history.Op) {
			ops[2].Outcome = history.Fail
		}},
		"lost": {"lost write", func(ops []history.Op) { ops[list].Entries = ops[list].Entries[1:] }},
		"expired, acknowledged after": {"write under an ended token", func(ops []history.Op) {
			ops[4].Result, ops[3].Outcome = 0, history.OK
		}},
	} {
		ops := tokenStory()
		c.do(ops)
		found := Tokens(ops).Problems
		if !slices.ContainsFunc(found, func(p Problem) bool { return p.Kind == c.kind }) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
