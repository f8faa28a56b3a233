package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenure/jepsen/history"
)

// TestUndecidedIsNoViolation: a checker that ran out of time says so, and that this shows nothing.
func TestUndecidedIsNoViolation(t *testing.T) {
	var ops []history.Op
	for i := range 30 { // all at a time, and none that gives what is read: there are 30! orders to try
		ops = append(ops, history.Op{Client: i, Kind: history.Put, Key: "k", Value: fmt.Sprint(i), Outcome: history.Info,
			Call: time.Duration(i), Return: history.Forever})
	}
	ops = append(ops, history.Op{Client: 99, Kind: history.Get, Key: "k", Value: "nobody wrote this", Outcome: history.OK,
		Mode: modeNames[consistent], Call: 100, Return: 200})
	f := new(engine).linearizable(ops, time.Nanosecond)
	if f == nil || f.Check != "undecided" || !strings.Contains(f.Detail, "undecided within 1ns, not a violation") {
		t.Fatalf("%v", f)
	}
	f = new(engine).linearizable(ops[30:], time.Minute)
	if f == nil || f.Check != "linearizability" || strings.Contains(f.Detail, "undecided") {
		t.Fatalf("%v", f)
	}
}
