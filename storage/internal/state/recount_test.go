package state

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tenure/kv"
	"tenure/storage/internal/disk"
)

// The recomputed digest is the maintained one, whatever checkpoints change meanwhile at, above and below the position
// of the recount.
func TestRecountBesideCheckpoints(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 9))
	s := open(t, t.TempDir(), small)
	s.DB.options.PartBytes = 50 << 10
	slot := uint64(0)
	write := func(n int) {
		slot++
		changes := map[string]kv.Change{}
		for range n {
			c := kv.Change{Kind: kv.RecordKind(1 + r.IntN(3)), Key: fmt.Appendf(nil, "%03d", r.IntN(400))}
			if r.IntN(3) > 0 {
				c.Value = make([]byte, 1+r.IntN(5000))
			}
			changes[fmt.Sprintf("%d %s", c.Kind, c.Key)] = c
		}
		must(t, s.Checkpoint(&listed{Slot: slot, Meta: []byte("m"), Changes: sortedChanges(changes)}))
	}
	write(1000)
	for range 20 {
		s.recount = recount{running: true}
		pieces := 0
		for more := true; more; pieces++ {
			var err error
			_, more, err = s.countPiece()
			must(t, err)
			if more {
				write(1 + r.IntN(40))
			}
		}
		s.recount = recount{}
		if pieces < 4 {
			t.Fatalf("read in %d pieces: the test does not test it", pieces)
		}
	}
	must(t, s.Recount(t.Context(), 1<<40))
	if n := s.Stats().Recounts; n != 21 {
		t.Errorf("%d times", n)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Recount(stopped, 1); err != context.Canceled {
		t.Errorf("stopped: %v", err)
	}
}

// A digest that is not that of the records ends the store.
func TestRecountNoticesAnotherDigest(t *testing.T) {
	s := open(t, t.TempDir(), small)
	checkpointKeys(t, s, 1, 0, 20, "v")
	m := *s.checkpointed.Load()
	m.Records.Sum++
	s.checkpointed.Store(&m)
	wantError(t, s.Recount(t.Context(), 1<<40), disk.ErrDamaged, disk.StateName, "or not these")
	if _, err := s.View(); err == nil {
		t.Error("the store goes on")
	}
}

func sortedChanges(m map[string]kv.Change) (out []kv.Change) {
	for _, c := range m {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b kv.Change) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), bytes.Compare(a.Key, b.Key))
	})
	return out
}
