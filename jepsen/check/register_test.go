package check

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"tenure/jepsen/history"
)

const ms = time.Millisecond

func put(c int, v string, rev uint64, from, to time.Duration) history.Op {
	return history.Op{Client: c, Kind: history.Put, Key: "k", Value: v, Result: rev, Outcome: history.OK, Call: from,
		Return: to}
}

func get(c int, v string, index uint64, from, to time.Duration) history.Op {
	return history.Op{Client: c, Kind: history.Get, Key: "k", Value: v, Index: index, Absent: v == "",
		Outcome: history.OK, Call: from, Return: to}
}

func cas(c int, index uint64, v string, matched bool, rev uint64, from, to time.Duration) history.Op {
	return history.Op{Client: c, Kind: history.CAS, Key: "k", Index: index, Value: v, Matched: matched, Result: rev,
		Outcome: history.OK, Call: from, Return: to}
}

func unknown(op history.Op) history.Op {
	op.Outcome, op.Return, op.Result = history.Info, history.Forever, 0
	return op
}

// Each story is one that a correct store can or cannot have told; the second kind is the checker's own mutation test.
func TestRegisterStories(t *testing.T) {
	for _, c := range []struct {
		name string
		good bool
		ops  []history.Op
	}{
		{"read after write", true, []history.Op{put(1, "a", 1, 0, 1*ms), get(2, "a", 1, 2*ms, 3*ms)}},
		{"stale read", false, []history.Op{put(1, "a", 1, 0, 1*ms), put(1, "b", 2, 2*ms, 3*ms), get(2, "a", 1, 4*ms,
			5*ms)}},
		{"overlapping read sees either", true, []history.Op{put(1, "a", 1, 0, 1*ms), put(1, "b", 2, 2*ms, 5*ms), get(2,
			"a", 1, 3*ms, 4*ms)}},
		{"reads go back", false, []history.Op{put(1, "a", 1, 0, 1*ms), put(1, "b", 2, 2*ms, 9*ms), get(2, "b", 2, 3*ms,
			4*ms), get(3, "a", 1, 5*ms, 6*ms)}},
		{"lost write", false, []history.Op{put(1, "a", 1, 0, 1*ms), get(2, "", 0, 2*ms, 3*ms)}},
		{"unknown write may appear late", true, []history.Op{unknown(put(1, "a", 0, 0, 0)), get(2, "", 0, 2*ms, 3*ms),
			get(2, "a", 1, 4*ms, 5*ms)}},
		{"unknown write applied twice", false, []history.Op{unknown(put(1, "a", 0, 0, 0)), get(2, "a", 1, 2*ms, 3*ms),
			put(2, "b", 2, 4*ms, 5*ms), get(2, "a", 3, 6*ms, 7*ms)}},
		{"right value, wrong index", false, []history.Op{put(1, "a", 1, 0, 1*ms), get(2, "a", 2, 2*ms, 3*ms)}},
		{"cas on what is there", true, []history.Op{put(1, "a", 1, 0, 1*ms), cas(2, 1, "b", true, 2, 2*ms, 3*ms), get(3,
			"b", 2, 4*ms, 5*ms)}},
		{"two cas on one index", false, []history.Op{put(1, "a", 1, 0, 1*ms), cas(2, 1, "b", true, 2, 2*ms, 5*ms),
			cas(3, 1, "c", true, 3, 2*ms, 5*ms)}},
		{"cas refused for nothing", false, []history.Op{put(1, "a", 1, 0, 1*ms), cas(2, 1, "b", false, 0, 2*ms, 3*ms)}},
		{"delete", true, []history.Op{put(1, "a", 1, 0, 1*ms), {Client: 1, Kind: history.Delete, Key: "k",
			Outcome: history.OK, Call: 2 * ms, Return: 3 * ms}, get(2, "", 0, 4*ms, 5*ms)}},
	} {
		v := Registers(c.ops, time.Second)
		if got := v[0].Result == porcupine.Ok; got != c.good {
			t.Errorf("%s: verdict %v", c.name, v[0].Result)
		}
	}
}
