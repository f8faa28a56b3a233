package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"tenure/client"
)

// Ledger makes clients write keys that nobody writes again. So each acknowledged write can be looked for later, and one
// that was applied twice has a ModifyIndex above its CreateIndex.
type Ledger struct {
	cfg Config

	mu      sync.Mutex
	acked   map[string]uint64 // key → revision that its client was told
	unknown map[string]bool
	refused int
	slowest time.Duration // the longest time of one write
}

// NewLedger returns an empty ledger.
func NewLedger(cfg Config) *Ledger {
	return &Ledger{cfg: cfg, acked: map[string]uint64{}, unknown: map[string]bool{}}
}

// Write writes until ctx ends; prefix keeps the keys of several calls apart.
func (l *Ledger) Write(ctx context.Context, prefix string) error {
	var wg sync.WaitGroup
	for i := range l.cfg.Clients {
		c, err := newClient(l.cfg, i)
		if err != nil {
			return err
		}
		wg.Go(func() {
			defer c.Close()
			for n := 0; ctx.Err() == nil; n++ {
				l.write(c, fmt.Sprintf("%s/%d/%06d", prefix, i, n))
			}
		})
	}
	wg.Wait()
	return nil
}

func (l *Ledger) write(c *client.Client, key string) {
	ctx, cancel := context.WithTimeout(context.Background(), l.cfg.Timeout)
	defer cancel()
	start := time.Now()
	revision, err := c.Set(ctx, key, []byte(key), client.WriteOptions{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = max(l.slowest, time.Since(start))
	switch {
	case err == nil:
		l.acked[key] = revision
	case errors.Is(err, client.ErrUnknown):
		l.unknown[key] = true
	default:
		l.refused++
	}
}

// Counts returns how many writes were acknowledged, of unknown outcome and refused so far, and the longest time of one.
func (l *Ledger) Counts() (acked, unknown, refused int, slowest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked), len(l.unknown), l.refused, l.slowest
}

// Acknowledged returns the keys of the writes that were acknowledged so far, with their revisions.
func (l *Ledger) Acknowledged() map[string]uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.acked)
}

// Check reads every write under prefix and returns what is wrong: writes that are lost, changed, applied twice, or
// applied although they were refused.
func (l *Ledger) Check(ctx context.Context, c *client.Client, prefix string) (problems []string, err error) {
	entries, _, err := c.List(ctx, prefix, client.ListOptions{Mode: client.Consistent})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	found := map[string]client.Entry{}
	for _, e := range entries {
		found[e.Key] = e
		revision, acked := l.acked[e.Key]
		switch {
		case string(e.Value) != e.Key:
			report("%s has the value %q", e.Key, e.Value)
		case e.ModifyIndex != e.CreateIndex:
			report("%s was applied more than once: created at %d, modified at %d", e.Key, e.CreateIndex, e.ModifyIndex)
		case acked && e.ModifyIndex != revision:
			report("%s is at %d, its client was told %d", e.Key, e.ModifyIndex, revision)
		case !acked && !l.unknown[e.Key]:
			report("%s is there although its client was told that it was not applied", e.Key)
		}
	}
	for key := range l.acked {
		if _, ok := found[key]; !ok {
			report("%s was acknowledged and is lost", key)
		}
	}
	return problems, nil
}
