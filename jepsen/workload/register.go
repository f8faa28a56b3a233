package workload

import (
	"context"
	"fmt"
	"time"

	"tenure/jepsen/history"
)

// GroupSize is how many clients share a key at most, because the checker's work grows fast with it. Many clients on one
// key find what goes wrong between writes that overlap, but they overwrite a lost write before anybody can tell. So
// half of the clients have a key of their own.
const (
	GroupSize = 10
	// readers is how many clients of a group only read, with a short rest. A client that also writes waits for a master
	// that was cut off. Only a client that just reads can see whether that master still answers when it must not.
	readers     = 3
	readersRest = 3 * time.Millisecond
	// registerUses is how often a key is used. One use in seven is two operations, and one more reads the key at the
	// end: together almost certainly no more than check.MaxOpsPerKey.
	registerUses = 150
)

// Registers makes clients get, put, compare-and-set and delete shared keys through all nodes until ctx ends.
func Registers(ctx context.Context, cfg Config, rec *history.Recorder) error {
	rings := registerKeys(cfg)
	return each(ctx, cfg, rec, func(w *worker) {
		if w.id < (cfg.Clients+1)/2 && w.id%GroupSize >= GroupSize-readers {
			w.keys.get(rings[w.id].next(), w.gen.IntN(10) == 0)
			time.Sleep(readersRest)
			return
		}
		w.register(rings[w.id].next())
	})
}

// registerKeys returns the keys of each client.
func registerKeys(cfg Config) []*keyring {
	rings := make([]*keyring, cfg.Clients)
	for i := range rings {
		if shared := i < (cfg.Clients+1)/2; shared && i%GroupSize != 0 {
			rings[i] = rings[i-1]
			continue
		}
		rings[i] = &keyring{prefix: fmt.Sprintf("register/%d/", i), limit: registerUses}
	}
	return rings
}

// Paced is Registers for those who measure: each client begins something every so often, and rests in between. The keys
// are under prefix, which no other run of it may have had on the same cluster.
func Paced(ctx context.Context, cfg Config, rec *history.Recorder, prefix string, every time.Duration) error {
	rings := make([]*keyring, cfg.Clients)
	for i := range rings {
		if i%2 == 1 { // two clients share a key
			rings[i] = rings[i-1]
			continue
		}
		rings[i] = &keyring{prefix: fmt.Sprintf("paced/%s/%d/", prefix, i), limit: registerUses}
	}
	return each(ctx, cfg, rec, func(w *worker) {
		next := time.Now().Add(every)
		w.register(rings[w.id].next())
		select {
		case <-time.After(time.Until(next)):
		case <-ctx.Done():
		}
	})
}

// register does one or two operations on a key.
func (w *worker) register(key string) {
	switch p := w.gen.IntN(100); {
	case p < 45:
		w.keys.get(key, p%2 == 0)
	case p < 75:
		w.keys.put(key, w.gen.value())
		if p%2 == 0 {
			w.keys.get(key, p%4 == 0) // before others have overwritten it
		}
	case p < 97:
		w.keys.cas(key, w.gen.value(), w.keys.seen[key])
	default:
		w.keys.delete(key)
	}
}
