package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	watchEvery  = 250 * time.Millisecond
	fillClients = 64 // at least so many fill, however few will measure
	fillTries   = 100
	fillPause   = 100 * time.Millisecond
	dialTimeout = 5 * time.Second
)

// Stage is a part of a run.
type Stage uint8

// The stages, in their order.
const (
	Filling Stage = iota
	Warming
	Measuring
)

// Progress is how far a run is.
type Progress struct {
	Stage   Stage
	Keys    int           // written so far (Filling)
	Elapsed time.Duration // since the warm-up began; since the window opened (Measuring)
	Ops     uint64        // answered in the window so far
	Failed  uint64
}

// ErrEarly is the error for an interruption before the window opened, when nothing was measured.
var ErrEarly = errors.New("interrupted before anything was measured")

// Run does the run that c describes. If ctx ends while the window is open, the Result is of what was measured until
// then, and Interrupted is set.
func Run(ctx context.Context, c Config) (Result, error) {
	if err := c.Validate(); err != nil {
		return Result{}, err
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	if c.Sleep == nil {
		c.Sleep = exactSleep
	}
	w, err := newWorld(c)
	if err != nil {
		return Result{}, err
	}
	defer w.close()
	defer context.AfterFunc(ctx, w.cut)()
	if c.Fill {
		if err := w.fill(ctx); err != nil {
			return Result{}, err
		}
	}
	return w.measure(ctx)
}

func newWorld(c Config) (*world, error) {
	w := &world{cfg: c, random: make([]byte, poolBytes+c.ValueSize), master: newMaster(&c)}
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], c.Seed)
	_, _ = rand.NewChaCha8(seed).Read(w.random) // it has no end
	if c.Op == CAS {
		w.indexes = make([]atomic.Uint64, c.Keys)
	}
	if c.leases() {
		w.leases = newLeases(c)
	}
	var hosts []string
	for _, e := range c.Endpoints {
		h, err := hostOf(e)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, h)
	}
	n := c.Conns
	if c.Fill {
		n = max(n, min(fillClients, c.Keys))
	}
	for i := range n {
		conn := newConn(hosts, i, w.master, c.Dial, c.Timeout)
		conn.token = c.Token
		w.conns = append(w.conns, conn)
	}
	if c.Conns < c.Clients {
		w.atRest = make(chan *conn, c.Conns)
		for _, conn := range w.conns[:c.Conns] {
			w.atRest <- conn
		}
	}
	return w, nil
}

// cut ends all requests in flight.
func (w *world) cut() {
	for _, c := range w.conns {
		c.cut()
	}
}

// close closes the connections. Nobody may be using them.
func (w *world) close() {
	for _, c := range w.conns {
		c.close()
	}
}

// fill writes every key once.
func (w *world) fill(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next, filled atomic.Int64
	var all sync.WaitGroup
	for i, c := range w.conns {
		all.Go(func() {
			f := w.newWorker(-1 - i)
			for ctx.Err() == nil {
				key := int(next.Add(1) - 1)
				if key >= w.cfg.Keys {
					return
				}
				if err := f.fillOne(ctx, c, key); err != nil {
					stop(err)
					return
				}
				filled.Add(1)
			}
		})
	}
	w.watched(&all, func(time.Duration) Progress { return Progress{Stage: Filling, Keys: int(filled.Load())} })
	if ctx.Err() == nil {
		for _, c := range w.conns[w.cfg.Conns:] {
			c.close()
		}
		return nil
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return ErrEarly
}

// fillOne tries for a while: a cluster may have no master yet, or have less space than is asked of it.
func (w *worker) fillOne(ctx context.Context, c *conn, key int) error {
	for try := 1; ; try++ {
		k := w.write(ctx, c, time.Now(), key)
		if k == done {
			return nil
		}
		hopeless := k == tooLarge || k == invalid || k == forbidden || k == noSpaceLeft
		if hopeless || try == fillTries {
			return fmt.Errorf("cannot write key %d of %d before the measurement: %v", key+1, w.cfg.Keys, k)
		}
		t := time.NewTimer(fillPause)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
	}
}

// measure warms up, measures and returns the result.
func (w *world) measure(ctx context.Context) (Result, error) {
	c := w.cfg
	start := time.Now()
	r := newRecorder(start.Add(c.Warmup), start.Add(c.Warmup+c.Duration), len(c.Endpoints))
	var p *pace
	if c.Rate > 0 {
		p = newPace(start, r.to, c.Rate, c.Sleep)
	}
	var all sync.WaitGroup
	for i := range c.Clients {
		all.Go(func() { w.newWorker(i).run(ctx, r, p) })
	}
	used := make(chan time.Duration, 1)
	all.Go(func() { used <- windowCPU(ctx, r) })
	w.watched(&all, func(elapsed time.Duration) Progress {
		if elapsed < c.Warmup {
			return Progress{Stage: Warming, Elapsed: elapsed}
		}
		g := Progress{Stage: Measuring, Elapsed: min(elapsed-c.Warmup, c.Duration)}
		g.Ops, g.Failed = r.counts()
		return g
	})
	to := r.to
	interrupted := false
	if now := time.Now(); now.Before(r.to) && ctx.Err() != nil {
		if !now.After(r.from) {
			return Result{}, ErrEarly
		}
		to, interrupted = now, true
	}
	if p != nil {
		r.miss(p.unsent(r.from, to))
	}
	out := c.result(r, to.Sub(r.from), <-used)
	out.Endpoints = w.answered(r)
	out.Interrupted = interrupted
	return out, nil
}

// windowCPU returns the processor time of this process while the window is open.
func windowCPU(ctx context.Context, r *recorder) time.Duration {
	wait := func(until time.Time) {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		select {
		case <-ctx.Done():
		case <-t.C:
		}
	}
	wait(r.from)
	before := cpuTime()
	wait(r.to)
	return cpuTime() - before
}

// watched waits for all, and calls Watch with the progress meanwhile.
func (w *world) watched(all *sync.WaitGroup, progress func(time.Duration) Progress) {
	if w.cfg.Watch == nil {
		all.Wait()
		return
	}
	over := make(chan struct{})
	go func() {
		all.Wait()
		close(over)
	}()
	start := time.Now()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-over:
			w.cfg.Watch(progress(time.Since(start)))
			return
		case <-tick.C:
			w.cfg.Watch(progress(time.Since(start)))
		}
	}
}
