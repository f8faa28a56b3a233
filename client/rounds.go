package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"
)

const (
	firstBackoff = 10 * time.Millisecond
	maxBackoff   = 500 * time.Millisecond
	// lastChance is the least time left for which another try is begun: one that is cut by the deadline only adds
	// doubt.
	lastChance = 20 * time.Millisecond
)

// rounds chooses the endpoint of each try of one call: the preferred one, then the others in turn at once, then,
// after a growing random wait, all of them again. A node that named a time is left alone until then.
type rounds struct {
	c       *Client
	first   int
	tried   int
	backoff time.Duration
	notYet  []time.Time // by endpoint; nil until a node names a time
	last    error       // why the last try was not the end
	// refused counts the tries in a row that were refused a connection; since is when the first of them was.
	refused int
	since   time.Time
}

func (c *Client) rounds() *rounds {
	return &rounds{c: c, first: int(c.prefer.Load()), backoff: firstBackoff}
}

// next waits as long as it must and returns the endpoint to try, or an error that says why there is no more trying:
// the context has ended, or would end before any node may be asked again.
func (r *rounds) next(ctx context.Context) (int, error) {
	n := len(r.c.endpoints)
	wait := time.Duration(0)
	if r.tried > 0 && r.tried%n == 0 {
		wait = r.backoff/2 + rand.N(r.backoff)
		r.backoff = min(2*r.backoff, maxBackoff)
	}
	best, bestAt := (r.first+r.tried)%n, time.Time{}
	if r.notYet != nil {
		best, bestAt = r.soonest(time.Now().Add(wait))
		wait = max(wait, time.Until(bestAt))
	}
	need := time.Duration(0)
	if r.tried > 0 {
		need = lastChance
	}
	if limit := r.c.cfg.GiveUpRefused; limit > 0 && r.refused >= n && !r.c.answered.Load() && time.Since(r.since)+wait > limit {
		return 0, fmt.Errorf("%w: %w", ErrRefused, r.last)
	}
	if err := pause(ctx, wait, need); err != nil {
		if r.last == nil {
			return 0, err
		}
		return 0, fmt.Errorf("%w; gave up after %d tries: %w", r.last, r.tried, err)
	}
	r.tried++
	return best, nil
}

// soonest is the endpoint whose turn it is among those that may be asked at t, or else the first to be free.
func (r *rounds) soonest(t time.Time) (int, time.Time) {
	n := len(r.c.endpoints)
	best := (r.first + r.tried) % n
	for i := range n {
		e := (r.first + r.tried + i) % n
		if !r.notYet[e].After(t) {
			return e, r.notYet[e]
		}
		if r.notYet[e].Before(r.notYet[best]) {
			best = e
		}
	}
	return best, r.notYet[best]
}

// failed notes that endpoint e was no use, and moves other calls on to the next.
func (r *rounds) failed(e int, err error) {
	r.last = err
	if !errors.Is(err, syscall.ECONNREFUSED) {
		r.refused = 0
	} else if r.refused++; r.refused == 1 {
		r.since = time.Now()
	}
	n := len(r.c.endpoints)
	r.c.prefer.CompareAndSwap(int32(e), int32((e+1)%n))
	var status *StatusError
	if !errors.As(err, &status) || status.RetryAfter <= 0 {
		return
	}
	if r.notYet == nil {
		r.notYet = make([]time.Time, n)
	}
	// The jitter keeps clients that were refused together from coming back together.
	r.notYet[e] = time.Now().Add(status.RetryAfter + rand.N(status.RetryAfter/4))
}

// answered notes that endpoint e is a good one.
func (r *rounds) answered(e int) { r.c.prefer.Store(int32(e)) }

// pause waits for d, or says at once that ctx ends before, or so soon after that less than need is left.
func pause(ctx context.Context, d, need time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d+need {
		return context.DeadlineExceeded
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
