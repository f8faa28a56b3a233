package bench

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"tenure/api"
)

// errorPause is how long a client without a connection rests: a refused connection must not become a busy loop.
const errorPause = 10 * time.Millisecond

// poolBytes is how much random data values are cut from, above the longest value.
const poolBytes = 1 << 20

// world is what the clients of a run share.
type world struct {
	cfg     Config
	random  []byte          // values are pieces of it
	indexes []atomic.Uint64 // by key: the newest index seen (CAS only)
	master  *master
	leases  *leases // Lease and Keepalive only
	conns   []*conn
	atRest  chan *conn // those that nobody uses, if there are fewer than clients; else client i has conns[i]
}

// worker is one client.
type worker struct {
	*world
	id     int
	rng    *rand.Rand
	target []byte
	body   []byte
}

func (w *world) newWorker(id int) *worker {
	return &worker{world: w, id: id, rng: rand.New(rand.NewPCG(w.cfg.Seed, uint64(id)))}
}

// take returns a connection for one operation, or nil if ctx ends first.
func (w *worker) take(ctx context.Context) *conn {
	if w.atRest == nil {
		return w.conns[w.id]
	}
	select {
	case c := <-w.atRest:
		return c
	case <-ctx.Done():
		return nil
	}
}

// give returns a connection from take.
func (w *worker) give(c *conn) {
	if w.atRest != nil {
		w.atRest <- c
	}
}

// path sets the target to key i and query.
func (w *worker) path(i int, query string) []byte {
	t := append(append(w.target[:0], api.PathKV...), w.cfg.Prefix...)
	t = appendNumber(t, i)
	if query != "" {
		t = append(append(t, '?'), query...)
	}
	w.target = t
	return t
}

// appendNumber appends the number of a key, in eight digits.
func appendNumber(b []byte, i int) []byte {
	for limit := 10_000_000; i < limit && limit > 1; limit /= 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, int64(i), 10)
}

// value returns a random value.
func (w *worker) value() []byte {
	at := w.rng.IntN(poolBytes)
	return w.random[at : at+w.cfg.ValueSize]
}

// operate does one operation on a key.
func (w *worker) operate(ctx context.Context, c *conn, now time.Time, key int) (read bool, k kind) {
	if w.leases != nil {
		return false, w.lease(ctx, c, now, key)
	}
	if w.cfg.Op == Get || w.cfg.Op == Mixed && w.rng.Float64() < w.cfg.ReadShare {
		query := ""
		if w.cfg.Mode != Default {
			query = w.cfg.Mode
		}
		return true, c.do(ctx, now, "GET", w.path(key, query), nil)
	}
	target := w.path(key, "")
	if w.cfg.Op == CAS {
		target = strconv.AppendUint(append(target, "?cas="...), w.indexes[key].Load(), 10)
		w.target = target
	}
	k = c.do(ctx, now, "PUT", target, w.value())
	if k == done {
		w.learn(key, c.reply.revision)
	}
	return false, k
}

// write does one operation of the fill.
func (w *worker) write(ctx context.Context, c *conn, now time.Time, key int) kind {
	if w.leases != nil {
		return w.regain(ctx, c, now, key)
	}
	k := c.do(ctx, now, "PUT", w.path(key, ""), w.value())
	if k == done {
		w.learn(key, c.reply.revision)
	}
	return k
}

// learn notes a write's revision, which is the key's new index. Several clients may write one key: the newest counts.
func (w *world) learn(key int, revision uint64) {
	if w.indexes == nil {
		return
	}
	for n := &w.indexes[key]; ; {
		old := n.Load()
		if revision <= old || n.CompareAndSwap(old, revision) {
			return
		}
	}
}

// look reads the index of a key whose compare-and-set has failed.
func (w *worker) look(ctx context.Context, c *conn, now time.Time, key int) {
	switch c.do(ctx, now, "GET", w.path(key, "raw"), nil) {
	case done:
		w.indexes[key].Store(c.reply.index)
	case notFound:
		w.indexes[key].Store(0)
	}
}

// run works until the window is over or ctx ends. A request is due when the one before was over, or when p says.
func (w *worker) run(ctx context.Context, r *recorder, p *pace) {
	giveUp := r.to.Add(w.cfg.Timeout)
	for due := time.Now(); ; {
		now := due
		if p != nil {
			var ok bool
			if due, ok = p.next(ctx, giveUp); !ok {
				return
			}
			now = time.Now()
		} else if !now.Before(r.to) {
			return
		}
		c := w.take(ctx)
		if c == nil {
			return
		}
		key := w.rng.IntN(w.cfg.Keys)
		read, k := w.operate(ctx, c, now, key)
		now = time.Now()
		if ctx.Err() != nil {
			return // what was cut has not failed by itself
		}
		r.add(w.id, c.used, read, k, due, now)
		if k == condition || k.broken() {
			w.recover(ctx, c, now, k, key)
			now = time.Now()
		}
		w.give(c)
		due = now
	}
}

// recover makes ready for the next operation after one that failed. Its time counts in no latency of a closed loop. In
// an open loop it delays the requests that are due meanwhile, unless another client is free.
func (w *worker) recover(ctx context.Context, c *conn, now time.Time, k kind, key int) {
	switch {
	case k == condition && w.leases != nil:
		w.regain(ctx, c, now, key)
		return
	case k == condition:
		w.look(ctx, c, now, key)
		return
	}
	t := time.NewTimer(errorPause)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
