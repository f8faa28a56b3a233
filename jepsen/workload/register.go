package workload

import (
	"context"
	"fmt"
	"time"

	"tenure/jepsen/history"
)

// GroupSize is how many clients share a key: the checker's work grows fast with it.
const GroupSize = 10

// Config says who drives what.
type Config struct {
	Endpoints []string
	Clients   int
	Timeout   time.Duration // of one operation
	Seed      uint64
	// ConsistentOnly is for clocks that err by more than they may: default reads promise nothing then.
	ConsistentOnly bool
}

// Registers has clients get, put, compare-and-set and delete shared keys through all nodes until ctx ends. Every
// client starts at another endpoint and fails over; each operation is recorded as its client saw it.
func Registers(ctx context.Context, cfg Config, rec *history.Recorder) error {
	rings := make([]*keyring, (cfg.Clients+GroupSize-1)/GroupSize)
	for i := range rings {
		rings[i] = &keyring{prefix: fmt.Sprintf("register/%d/", i)}
	}
	return each(ctx, cfg, rec, func(w *worker) { w.register(rings[w.id/GroupSize].next()) })
}

func (w *worker) register(key string) {
	switch p := w.random.IntN(100); {
	case p < 45:
		w.get(key, p%2 == 0)
	case p < 75:
		w.put(key, w.word())
	case p < 97:
		w.cas(key, w.word(), w.seen[key])
	default:
		w.delete(key)
	}
}
