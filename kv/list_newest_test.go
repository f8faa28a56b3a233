package kv

import (
	"errors"
	"fmt"
	"testing"
)

// Newest agrees with a walk over the same keys, in the tables and in the state database.
func TestNewest(t *testing.T) {
	stateDB := NewMemStateDB()
	s, err := Open(stateDB, DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	slot := uint64(0)
	apply := func(c Command) {
		slot++
		if _, err := s.Apply(slot, AppendBatch(nil, EncodeCommand(&c))); err != nil {
			t.Fatal(err)
		}
	}
	check := func() {
		t.Helper()
		v, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		for _, prefix := range []string{"", "a", "a/1", "a/17", "b", "\xff"} {
			var index uint64
			n := 0
			if err := v.Walk(Range{Prefix: prefix},
				func(e Entry) bool { index = max(index, e.ModifyIndex); n++; return true }); err != nil {
				t.Fatal(err)
			}
			if i, m, err := v.Newest(prefix, nil); err != nil || i != index || m != n {
				t.Errorf("%q: index %d of %d keys (%v), want %d of %d", prefix, i, m, err, index, n)
			}
		}
	}
	check()
	for i := range 600 {
		apply(Command{Op: OpSet, Key: fmt.Sprintf("a/%d", i%300), Value: []byte("v")})
	}
	apply(Command{Op: OpDelete, Key: "a/17"})
	check()
	stateDB.Merge(s.Freeze().Checkpoint())
	if err := s.Checkpointed(); err != nil {
		t.Fatal(err)
	}
	check()
	apply(Command{Op: OpSet, Key: "b"})
	apply(Command{Op: OpDelete, Key: "a/18"})
	check()
	v, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	stop := errors.New("stop")
	if _, _, err := v.Newest("", func() error { return stop }); !errors.Is(err, stop) {
		t.Errorf("not cancelled: %v", err)
	}
}
