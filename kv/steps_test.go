package kv

import (
	"strings"
	"testing"
	"time"
)

// Steps charge the quotas of their keys, and are refused by them, one by one.
func TestStepsChargeQuotas(t *testing.T) {
	m := leveled(t, DefaultLimits)
	m.do(quotaOf("q/", 10, 0))
	got := m.steps(sequence(put("q/a", "1234"), put("free", "1234567890"), put("q/b", "12345"), put("q/a", "12"),
		Command{Op: OpAppend, Key: "q/a", Value: []byte("34")}, Command{Op: OpDelete, Key: "q/a"}, put("q/b", "1")))
	want := "done 0; done 0; over a quota 0"
	if !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q first", got, want)
	}
	if used := m.used("q/"); used != "4 B 1 keys" {
		t.Errorf("used: %s", used)
	}
}

// A time to live begins with the step that sets it: the end of one before ends nothing.
func TestRetimeBeginsTheTime(t *testing.T) {
	m := leveled(t, DefaultLimits)
	m.do(put("k", "v"))
	m.do(Command{Op: OpSetTTL, Key: "k", TTL: time.Minute})
	first := m.Revision()
	m.do(Command{Op: OpSetTTL, Key: "k", TTL: time.Hour})
	m.want(Command{Op: OpEndKey, Key: "k", Arm: first}, refused(first+1))
	m.want(Command{Op: OpEndKey, Key: "k", Arm: first + 1}, deleted(first+2, 1))
	m.do(put("k", "v"))
	m.do(Command{Op: OpSetTTL, Key: "k", TTL: time.Minute})
	begun := m.Revision()
	m.do(Command{Op: OpSetTTL, Key: "k"}) // permanent again
	m.want(Command{Op: OpEndKey, Key: "k", Arm: begun}, refused(begun+1))
}

// A key that is moved to itself stays as it is, with its revision and its time.
func TestAMoveToItselfChangesNothing(t *testing.T) {
	m := leveled(t, DefaultLimits)
	m.do(Command{Op: OpSet, Key: "k", Value: []byte("v"), TTL: time.Minute})
	revision := m.Revision()
	m.want(Command{Op: OpRename, Key: "k", NewKey: "k"}, done(revision))
	m.want(Command{Op: OpRename, Key: "none", NewKey: "none"}, Result{Code: CodeMissing, Revision: revision})
	m.want(Command{Op: OpEndKey, Key: "k", Arm: revision}, deleted(revision+1, 1))
}

func TestAPutThatFindsTheKey(t *testing.T) {
	m := leveled(t, DefaultLimits)
	m.do(put("k", "1"))
	for _, c := range []struct {
		mode Mode
		key  string
		want Code
	}{
		{ModeAbsent, "k", CodeCondition}, {ModeAbsent, "none", CodeDone},
		{ModePresent, "k", CodeDone}, {ModePresent, "nil", CodeCondition},
	} {
		if r := m.do(Command{Op: OpSet, Key: c.key, Value: []byte("2"), Mode: c.mode})[0]; r.Code != c.want {
			t.Errorf("mode %d of %s: %v, want %v", c.mode, c.key, r.Code, c.want)
		}
	}
}
