package kv

import "testing"

// A new cluster that was made from what survived goes on above everything that the old one may have said.
func TestJump(t *testing.T) {
	m := newMachine(t, DefaultLimits)
	m.want(set("a", "1").keyed("old", 0), done(2))
	m.want(set("gone", "1"), done(3))
	m.want(del("gone"), Result{Code: CodeDone, Revision: 4, Count: 1})
	slot := m.Applied()
	if err := m.Jump(1000, 500); err != nil {
		t.Fatal(err)
	}
	if m.Applied() != slot+1000 || m.Revision() != 505 {
		t.Fatalf("slot %d, revision %d", m.Applied(), m.Revision())
	}
	check := func() {
		t.Helper()
		if got := m.get("a"); got != "a=1 f0 c2 m2 l0" {
			t.Fatal(got)
		}
		m.want(set("a", "1").keyed("old", 0), Result{Code: CodeKeyTooOld, Revision: 505})
		m.want(set("a", "2").keyed("lost", 504), Result{Code: CodeKeyTooOld, Revision: 505})
		v, err := m.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		// An index from before the jump is known to be old, whatever is read.
		if v.Deleted("a") != 505 || v.Compacted() != 505 || v.SessionsIndex() != 505 {
			t.Errorf("deletions are known behind %d and %d, sessions at %d", v.Deleted("a"), v.Compacted(), v.SessionsIndex())
		}
	}
	check()
	before := m.digest()
	m.takeCheckpoint()
	m.reopen()
	if m.digest() != before {
		t.Error("the checkpoint changed the state")
	}
	check()
	m.want(set("a", "2").keyed("new", 505), done(506)) // by a client that has seen the new store
	m.want(set("a", "2").keyed("new", 505), done(506))
}

func TestJumpHasAnEnd(t *testing.T) {
	m := newMachine(t, DefaultLimits)
	if m.Jump(1, ^uint64(0)) == nil || m.Jump(^uint64(0), 1) == nil || m.Jump(1, MaxReached-m.Revision()) == nil {
		t.Error("a number went beyond what is reached")
	}
	if m.Jump(MaxReached, 1) != nil || m.Jump(1, 1) == nil {
		t.Error("the last slot is another one")
	}
}
