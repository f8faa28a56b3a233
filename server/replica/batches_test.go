package replica

import (
	"testing"

	"tenure/kv"
)

// A batch has at least one write, however large, and no more writes than the state machine takes: its results would be
// fewer than its writes.
func TestTheNextBatchIsBounded(t *testing.T) {
	for _, c := range []struct{ waiting, bytes, most, want int }{
		{1, 9000, 100, 1},
		{5, 10, 1 + 2*(10+batchOverhead) + 10, 3},
		{kv.MaxBatchCommands + 1, 1, 64 << 20, kv.MaxBatchCommands},
	} {
		q := queue{items: make([]write, c.waiting)}
		for i := range q.items {
			q.items[i].Command = make([]byte, c.bytes)
		}
		if n, _ := q.first(c.most); n != c.want {
			t.Errorf("%d writes of %d bytes: %d in a batch of %d bytes, want %d", c.waiting, c.bytes, n, c.most, c.want)
		}
	}
}
