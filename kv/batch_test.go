package kv

import "testing"

func TestFreesIsTheSameForACommandAndItsBatch(t *testing.T) {
	id := "5b4ec0a2-6f0c-4b7c-9e1a-000000000001"
	for _, r := range []struct {
		name  string
		c     Command
		frees bool
	}{
		{"set", Command{Op: OpSet, Key: "k", Value: []byte("v")}, false},
		{"set to nothing", Command{Op: OpSet, Key: "k"}, false},
		{"delete", Command{Op: OpDelete, Key: "k"}, true},
		{"prune", Command{Op: OpPrune, Key: "k"}, true},
		{"renew", Command{Op: OpSessionRenew, Session: Session{ID: id}}, true},
		{"create", Command{Op: OpSessionCreate, Session: Session{ID: id}}, false},
		{"end of a session", Command{Op: OpEndSession, Session: Session{ID: id}, Arm: 3}, true},
		{"era", Command{Op: OpNewEra, IdemKey: "run"}, true},
		{"release", Command{Op: OpSet, Key: "k", Value: make([]byte, smallValueBytes), Lock: LockRelease,
			Session: Session{ID: id}}, true},
		{"release with much", Command{Op: OpSet, Key: "k", Value: make([]byte, smallValueBytes+1), Lock: LockRelease,
			Session: Session{ID: id}}, false},
		{"acquire", Command{Op: OpSet, Key: "k", Lock: LockAcquire, Session: Session{ID: id}}, false},
		{"deletes and checks", Command{Op: OpTransaction,
			Parts: []Part{{Op: OpCheckIndex, Key: "k", Index: 3}, {Op: OpDelete, Key: "k"}}}, true},
		{"a set among deletes", Command{Op: OpTransaction,
			Parts: []Part{{Op: OpDelete, Key: "k"}, {Op: OpSet, Key: "l"}}}, false},
	} {
		if got := r.c.Frees(); got != r.frees {
			t.Errorf("%s: Frees is %v", r.name, got)
		}
		renew := Command{Op: OpSessionRenew, Session: Session{ID: id}}
		batch := AppendBatch(AppendBatch(nil, EncodeCommand(&renew)), EncodeCommand(&r.c))
		if got := BatchFrees(batch); got != r.frees {
			t.Errorf("%s: BatchFrees is %v", r.name, got)
		}
	}
	if !BatchFrees(nil) || !BatchFrees([]byte{200}) {
		t.Error("what is never applied needs space")
	}
}
