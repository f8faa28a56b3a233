package kv

import "testing"

// A new cluster that was made from what survived goes on above everything that the old one may have said.
func TestJump(t *testing.T) {
	m := newMachine(t, DefaultLimits)
	m.want(set("a", "1").keyed("old", 0), done(2))
	slot := m.Applied()
	if err := m.Jump(1000, 500); err != nil {
		t.Fatal(err)
	}
	if m.Applied() != slot+1000 || m.Revision() != 503 {
		t.Fatalf("slot %d, revision %d", m.Applied(), m.Revision())
	}
	check := func() {
		t.Helper()
		if got := m.get("a"); got != "a=1 f0 c2 m2 l0" {
			t.Fatal(got)
		}
		m.want(set("a", "1").keyed("old", 0), Result{Code: CodeKeyTooOld, Revision: 503})
		m.want(set("a", "2").keyed("lost", 502), Result{Code: CodeKeyTooOld, Revision: 503})
	}
	check()
	before := m.digest()
	m.takeCheckpoint()
	m.reopen()
	if m.digest() != before {
		t.Error("the checkpoint changed the state")
	}
	check()
	m.want(set("a", "2").keyed("new", 503), done(504)) // by a client that has seen the new store
	m.want(set("a", "2").keyed("new", 503), done(504))
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
