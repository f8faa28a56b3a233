package storage

import (
	"strings"
	"sync"
	"testing"

	"tenure/kv"
)

// A view shows one checkpoint, whatever is checkpointed beside it, and holds up neither checkpoints nor commits.
func TestViewsAreStable(t *testing.T) {
	s := open(t, t.TempDir(), small)
	fill(t, s, 10, 10)
	checkpointKeys(t, s, 0, 500, "old")
	v := viewOf(t, s)
	defer v.Close()
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 5 {
			fill(t, s, 50, 300)
		}
	})
	for i := range 10 {
		checkpointKeys(t, s, 0, 700, strings.Repeat("new", 100+i))
	}
	wg.Wait()
	n := 0
	must(t, v.Ascend(kv.KindData, nil, func(k, value []byte) bool {
		if !strings.HasPrefix(string(value), "old") {
			t.Errorf("%s is %.10q", k, value)
		}
		n++
		return true
	}))
	if n != 500 {
		t.Errorf("%d keys", n)
	}
	must(t, s.Verify(t.Context()))
}
