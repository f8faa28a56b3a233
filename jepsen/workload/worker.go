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

// worker is one client; its operations follow one another, and each is recorded as the client saw it.
type worker struct {
	id     int
	cfg    Config
	client *client.Client
	raw    *raw
	leases LeaseConn // through raw
	rec    *history.Recorder
	random *rand.Rand
	serial int
	seen   map[string]uint64 // index last read, by key
}

// each has cfg.Clients workers do one thing after another until ctx ends. Every client starts at another endpoint and
// fails over.
func each(ctx context.Context, cfg Config, rec *history.Recorder, once func(*worker)) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range cfg.Clients {
		w, err := newWorker(cfg, rec, i)
		if err != nil {
			return err
		}
		wg.Go(func() {
			defer w.close()
			for ctx.Err() == nil {
				once(w)
			}
		})
	}
	return nil
}

func newWorker(cfg Config, rec *history.Recorder, id int) (*worker, error) {
	c, err := client.New(client.Config{Endpoints: rotate(cfg.Endpoints, id), Timeout: cfg.Timeout, AttemptTimeout: cfg.Timeout / 2})
	if err != nil {
		return nil, err
	}
	r := newRaw(rotate(cfg.Endpoints, id))
	return &worker{id: id, cfg: cfg, client: c, raw: r, leases: LeaseConn{r}, rec: rec,
		random: rand.New(rand.NewPCG(cfg.Seed, uint64(id))), seen: map[string]uint64{}}, nil
}

func (w *worker) close() {
	w.client.Close()
	w.raw.close()
}

// do runs and records one operation. Its context is its own, not the run's: the end of the run cuts nothing off.
func (w *worker) do(op history.Op, f func(context.Context, *history.Op) error) history.Op {
	ctx, cancel := context.WithTimeout(context.Background(), w.cfg.Timeout)
	defer cancel()
	op.Client, op.Call = w.id, w.rec.Now()
	err := f(ctx, &op)
	op.Return, op.Outcome = w.rec.Now(), outcome(err)
	if err != nil {
		op.Error = fmt.Sprintf("%.200s", err)
	}
	w.rec.Add(op)
	if op.Outcome == history.Fail {
		time.Sleep(time.Millisecond)
	}
	return op
}

// get reads, by a quorum if consistent or if nothing else is promised.
func (w *worker) get(key string, consistent bool) history.Op {
	mode, name := w.mode(consistent)
	op := w.do(history.Op{Kind: history.Get, Key: key, Mode: name}, func(ctx context.Context, op *history.Op) error {
		e, _, err := w.client.Get(ctx, key, client.ReadOptions{Mode: mode})
		if errors.Is(err, client.ErrNotFound) {
			op.Absent, err = true, nil
		}
		op.Value, op.Index = string(e.Value), e.ModifyIndex
		return err
	})
	w.seen[key] = op.Index
	return op
}

func (w *worker) mode(consistent bool) (client.Mode, string) {
	if consistent || w.cfg.ConsistentOnly {
		return client.Consistent, "consistent"
	}
	return client.Default, "default"
}

func (w *worker) put(key, value string) history.Op {
	return w.do(history.Op{Kind: history.Put, Key: key, Value: value}, func(ctx context.Context, op *history.Op) (err error) {
		op.Result, err = w.client.Set(ctx, key, []byte(value), client.WriteOptions{})
		return err
	})
}

func (w *worker) cas(key, value string, index uint64) history.Op {
	op := history.Op{Kind: history.CAS, Key: key, Value: value, Index: index, Matched: true}
	return w.do(op, func(ctx context.Context, op *history.Op) (err error) {
		op.Result, err = w.client.CompareAndSet(ctx, key, []byte(value), index, client.WriteOptions{})
		if errors.Is(err, client.ErrCondition) {
			op.Matched, op.Result, err = false, 0, nil
		}
		return err
	})
}

func (w *worker) delete(key string) history.Op {
	return w.do(history.Op{Kind: history.Delete, Key: key}, func(ctx context.Context, op *history.Op) (err error) {
		op.Result, err = w.client.Delete(ctx, key, client.WriteOptions{})
		return err
	})
}

func (w *worker) prune(prefix string) history.Op {
	return w.do(history.Op{Kind: history.Prune, Key: prefix}, func(ctx context.Context, op *history.Op) (err error) {
		_, op.Result, err = w.client.Prune(ctx, prefix, client.WriteOptions{})
		return err
	})
}

func (w *worker) list(prefix string, consistent bool) history.Op {
	mode, name := w.mode(consistent)
	return w.do(history.Op{Kind: history.List, Key: prefix, Mode: name}, func(ctx context.Context, op *history.Op) error {
		entries, meta, err := w.client.List(ctx, prefix, client.ListOptions{Mode: mode})
		op.Index = meta.Revision
		for _, e := range entries {
			op.Entries = append(op.Entries, history.Entry{Key: e.Key, Value: string(e.Value), Create: e.CreateIndex, Modify: e.ModifyIndex})
		}
		return err
	})
}

// word is one that nobody else ever writes.
func (w *worker) word() string {
	w.serial++
	return fmt.Sprintf("%d.%d", w.id, w.serial)
}

// outcome is what the client may conclude from err.
func outcome(err error) history.Outcome {
	switch {
	case err == nil:
		return history.OK
	case errors.Is(err, client.ErrUnknown), errors.Is(err, client.ErrDropped):
		return history.Info
	}
	return history.Fail
}

func rotate(list []string, by int) []string {
	by %= len(list)
	return append(append([]string(nil), list[by:]...), list[:by]...)
}
