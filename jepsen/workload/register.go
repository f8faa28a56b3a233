package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"tenure/client"
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
}

// Registers has clients get, put, compare-and-set and delete shared keys through all nodes until ctx ends. Every
// client starts at another endpoint and fails over; each operation is recorded as its client saw it.
func Registers(ctx context.Context, cfg Config, rec *history.Recorder) error {
	rings := make([]*keyring, (cfg.Clients+GroupSize-1)/GroupSize)
	for i := range rings {
		rings[i] = &keyring{prefix: fmt.Sprintf("register/%d/", i)}
	}
	var wg sync.WaitGroup
	for i := range cfg.Clients {
		c, err := client.New(client.Config{Endpoints: rotate(cfg.Endpoints, i), Timeout: cfg.Timeout, AttemptTimeout: cfg.Timeout / 2})
		if err != nil {
			return err
		}
		w := &registerClient{id: i, client: c, rec: rec, ring: rings[i/GroupSize], timeout: cfg.Timeout,
			random: rand.New(rand.NewPCG(cfg.Seed, uint64(i))), seen: map[string]uint64{}}
		wg.Go(func() {
			defer c.Close()
			for ctx.Err() == nil {
				w.once()
			}
		})
	}
	wg.Wait()
	return nil
}

// registerClient is one client; its operations follow one another.
type registerClient struct {
	id      int
	client  *client.Client
	rec     *history.Recorder
	ring    *keyring
	timeout time.Duration
	random  *rand.Rand
	serial  int
	seen    map[string]uint64 // index last read, by key: what a cas compares
}

// once does one operation. Its context is its own, not the run's: the end of the run cuts nothing off.
func (w *registerClient) once() {
	ctx, cancel := context.WithTimeout(context.Background(), w.timeout)
	defer cancel()
	op := history.Op{Client: w.id, Key: w.ring.next(), Call: w.rec.Now()}
	var err error
	switch p := w.random.IntN(100); {
	case p < 45:
		err = w.get(ctx, &op, p%2 == 0)
	case p < 75:
		err = w.put(ctx, &op)
	case p < 97:
		err = w.cas(ctx, &op)
	default:
		op.Kind = history.Delete
		op.Result, err = w.client.Delete(ctx, op.Key, client.WriteOptions{})
	}
	op.Return, op.Outcome = w.rec.Now(), outcome(err)
	w.rec.Add(op)
	if op.Outcome == history.Fail {
		time.Sleep(time.Millisecond)
	}
}

func (w *registerClient) get(ctx context.Context, op *history.Op, consistent bool) error {
	op.Kind, op.Mode = history.Get, "default"
	var o client.ReadOptions
	if consistent {
		op.Mode, o.Mode = "consistent", client.Consistent
	}
	e, _, err := w.client.Get(ctx, op.Key, o)
	if errors.Is(err, client.ErrNotFound) {
		op.Absent, err = true, nil
	}
	op.Value, op.Index = string(e.Value), e.ModifyIndex
	w.seen[op.Key] = op.Index
	return err
}

func (w *registerClient) put(ctx context.Context, op *history.Op) (err error) {
	op.Kind, op.Value = history.Put, w.value()
	op.Result, err = w.client.Put(ctx, op.Key, []byte(op.Value), client.WriteOptions{})
	return err
}

func (w *registerClient) cas(ctx context.Context, op *history.Op) (err error) {
	op.Kind, op.Value, op.Index, op.Matched = history.CAS, w.value(), w.seen[op.Key], true
	op.Result, err = w.client.CAS(ctx, op.Key, []byte(op.Value), op.Index, client.WriteOptions{})
	if errors.Is(err, client.ErrCondition) {
		op.Matched, op.Result, err = false, 0, nil
	}
	return err
}

// value is one that nobody else ever writes.
func (w *registerClient) value() string {
	w.serial++
	return fmt.Sprintf("%d.%d", w.id, w.serial)
}

// outcome is what the client may conclude from err.
func outcome(err error) history.Outcome {
	switch {
	case err == nil:
		return history.OK
	case errors.Is(err, client.ErrUnknown):
		return history.Info
	}
	return history.Fail
}

func rotate(list []string, by int) []string {
	by %= len(list)
	return append(append([]string(nil), list[by:]...), list[:by]...)
}
