package run

import (
	"testing"
	"time"

	"tenure/jepsen/history"
)

// The longest gap is between acknowledged writes, whoever made them: neither reads nor refusals end it.
func TestLongestGap(t *testing.T) {
	const ms = time.Millisecond
	op := func(kind history.Kind, outcome history.Outcome, at time.Duration) history.Op {
		return history.Op{Kind: kind, Outcome: outcome, Return: at}
	}
	ops := []history.Op{
		op(history.Put, history.OK, 100*ms), op(history.Put, history.OK, 10*ms), op(history.Put, history.OK, 20*ms),
		op(history.Get, history.OK, 60*ms), op(history.Put, history.Fail, 70*ms), op(history.CAS, history.OK, 80*ms),
		op(history.Put, history.OK, 130*ms),
	}
	if gap, from := longestGap(ops, 140*ms); gap != 80*ms || from != 20*ms {
		t.Errorf("%v from %v", gap, from)
	}
	if gap, from := longestGap(ops, 300*ms); gap != 170*ms || from != 130*ms {
		t.Errorf("with none at the end: %v from %v", gap, from)
	}
	if gap, _ := longestGap(ops[:1], 300*ms); gap != 0 {
		t.Errorf("of one write: %v", gap)
	}
}
