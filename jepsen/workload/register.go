package workload

import (
	"context"
	"fmt"
	"time"

	"tenure/jepsen/history"
)

// GroupSize is how many clients share a key at most: the checker's work grows fast with it. Many on one key find what
// goes wrong between writes that overlap; but there a lost write is overwritten before anybody can tell. So half of the
// clients have a key to themselves.
const (
	GroupSize = 10
	// readers of a group only read, a little apart. A client that also writes waits at a master that was cut off; only
	// one that reads can still hear from it, and tell whether it speaks when it must not any more.
	readers     = 3
	readersRest = 3 * time.Millisecond
	// registerUses is how often a key is handed out. One use in seven is two operations, and one more reads it at the
	// end: together no more than check.MaxOpsPerKey, but for luck that nobody has.
	registerUses = 150
)

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
	rings := make([]*keyring, cfg.Clients) // by client
	for i := range rings {
		if shared := i < (cfg.Clients+1)/2; shared && i%GroupSize != 0 {
			rings[i] = rings[i-1]
			continue
		}
		rings[i] = &keyring{prefix: fmt.Sprintf("register/%d/", i), limit: registerUses}
	}
	return each(ctx, cfg, rec, func(w *worker) {
		if w.id < (cfg.Clients+1)/2 && w.id%GroupSize >= GroupSize-readers {
			w.get(rings[w.id].next(), w.random.IntN(10) == 0)
			time.Sleep(readersRest)
			return
		}
		w.register(rings[w.id].next())
	})
}

func (w *worker) register(key string) {
	switch p := w.random.IntN(100); {
	case p < 45:
		w.get(key, p%2 == 0)
	case p < 75:
		w.put(key, w.word())
		if p%2 == 0 {
			w.get(key, p%4 == 0) // before others have overwritten it
		}
	case p < 97:
		w.cas(key, w.word(), w.seen[key])
	default:
		w.delete(key)
	}
}
