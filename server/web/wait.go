package web

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/server/service"
	"tenure/server/watch"
)

// waitJitter: a blocking query waits for `wait` (or the default) and up to a waitJitter-th more, so that clients that
// began together do not all come back together.
const waitJitter = 16

// wait returns for how long q may block.
func (q *query) wait() time.Duration {
	d := min(q.duration, api.MaxWait)
	if d <= 0 {
		d = api.DefaultWait
	}
	return d + rand.N(d/waitJitter+1)
}

// blocks reports whether q waits for news: `index=0` asks for what there is.
func (q *query) blocks() bool { return q.index != 0 }

// waits is the common part of blocking queries and streams of events.
type waits struct {
	hub      *watch.Hub
	service  *service.Service
	waiting  *atomic.Int64 // how many wait now
	blocking atomic.Int64  // how many blocking queries wait, or are answered after that
	stopping chan struct{} // closed when nobody may wait any more
	stopOnce sync.Once
}

// end ends present and later waits: the node stops. A second call does nothing.
func (w *waits) end() { w.stopOnce.Do(func() { close(w.stopping) }) }

// over waits until all blocking queries are answered, for limit at most.
func (w *waits) over(limit time.Duration) {
	for end := time.Now().Add(limit); w.blocking.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// stops reports whether EndWaits was called.
func (w *waits) stops() bool {
	select {
	case <-w.stopping:
		return true
	default:
		return false
	}
}

// block answers a blocking query. waiter is for the data of the query; err is the Hub's error if there is no waiter.
// look reads afresh in the query's mode. It answers if there is news behind q.index, or with must, when the wait is
// over or q.index is of another store. The waiter is armed before each look, so a look either sees a change, or the
// change ends the wait. During the wait only the waiter is held.
//
// When the node stops, a waiting query is answered with the present state, as at the end of its wait: to consul/api an
// error is the loss of a lock. A later query is refused, since its client would come back at once, again and again.
func (w *waits) block(x *exchange, q *query, waiter *watch.Waiter, err error,
	look func(must bool) (answered bool, err error)) error {
	if err != nil {
		return service.Overloaded(err)
	}
	defer waiter.Close()
	x.req.MustBeDecided()
	place, err := x.req.Bounds.TakePlace()
	if err != nil {
		return err
	}
	defer place.Give()
	x.req.Bounds.Leave()
	late := w.stops()
	w.blocking.Add(1)
	defer w.blocking.Add(-1)
	var timer *time.Timer
	d, began := q.wait(), time.Now()
	index := queryIndex{n: q.index, stale: q.has(nStale)}
	for must := false; ; {
		waiter.Arm()
		if !must {
			if err := w.decide(&index, min(max(0, d-time.Since(began)), x.timeout())); err != nil {
				return err
			}
		}
		if answered, err := look(must || index.foreign); answered || err != nil {
			return err
		}
		if timer == nil {
			timer = time.NewTimer(d - time.Since(began)) // to decide may have taken a while
			defer timer.Stop()
			x.extend(d)
		}
		why, err := w.await(x, waiter, timer, index.recheck())
		switch why {
		case timeOut:
			must = true
		case clientGone:
			return nil
		case nodeStops:
			if late || must {
				return errStopping
			}
			must = true
			x.w.Header()["Connection"] = closeConn // so that the next query may go to another node
		case notAllowed:
			return err
		}
	}
}

// What ended a wait.
type woken uint8

const (
	changed woken = iota // there may be news: look
	timeOut
	clientGone
	nodeStops
	notAllowed // any more
)

// await waits until waiter is signalled, timer ends, or look is ready, which may be nil. The error says why x is not
// allowed any more.
func (w *waits) await(x *exchange, waiter *watch.Waiter, timer *time.Timer, look <-chan time.Time) (woken, error) {
	began := time.Now()
	w.waiting.Add(1)
	defer func() {
		w.waiting.Add(-1)
		x.waited += time.Since(began)
	}()
	for {
		expires, stop := x.req.Expires()
		select {
		case <-waiter.C():
			stop()
			return changed, nil
		case <-timer.C:
			stop()
			return timeOut, nil
		case <-look:
			stop()
			return changed, nil
		case <-x.r.Context().Done():
			stop()
			return clientGone, nil
		case <-w.stopping:
			stop()
			return nodeStops, nil
		case <-x.req.News():
		case <-expires:
		}
		stop()
		if err := x.req.Again(); err != nil {
			return notAllowed, err
		}
	}
}

var errStopping = fmt.Errorf("%w: this node is stopping; ask another", service.ErrNotApplied)
