package web

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"tenure/server/watch"
)

// How long a blocking query waits: for `wait`, if it has one, and up to a waitJitter-th more, so that clients which
// began together do not all come back together.
const (
	DefaultWait = 5 * time.Minute
	MaxWait     = 10 * time.Minute
	waitJitter  = 16
)

// wait is for how long q may block.
func (q *query) wait() time.Duration {
	d := min(q.duration, MaxWait)
	if d <= 0 {
		d = DefaultWait
	}
	return d + rand.N(d/waitJitter+1)
}

// blocks tells whether q waits for news: `index=0` asks for what there is.
func (q *query) blocks() bool { return q.index != 0 }

// block answers a blocking query. look reads afresh and in the mode asked for, and answers if there is news behind
// q.index, or an error, or if it must: the wait is over. Each look comes after the waiter was armed, so that a change
// is either seen by it or ends the wait for the next. Nothing but the waiter is held while it waits.
func (s *Server) block(x *exchange, q *query, w *watch.Waiter, err error, look func(must bool) (answered bool)) {
	if err != nil {
		x.fail(waitRefused(err), false)
		return
	}
	defer w.Close()
	var timer *time.Timer
	for must := false; ; {
		w.Arm()
		if look(must) {
			return
		}
		if timer == nil {
			d := q.wait()
			timer = time.NewTimer(d)
			defer timer.Stop()
			// An error: a test's answer that has no deadlines.
			_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(d + s.cfg.ResponseTimeout))
		}
		switch s.await(x, w, timer) {
		case timeOut:
			must = true
		case clientGone:
			return
		case nodeStops:
			x.fail(errStopping, false)
			return
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
)

func (s *Server) await(x *exchange, w *watch.Waiter, timer *time.Timer) woken {
	began := time.Now()
	s.metrics.waiting.Add(1)
	defer func() {
		s.metrics.waiting.Add(-1)
		x.waited += time.Since(began)
	}()
	select {
	case <-w.C():
		return changed
	case <-timer.C:
		return timeOut
	case <-x.r.Context().Done():
		return clientGone
	case <-s.stopping:
		return nodeStops
	}
}

var errStopping = fmt.Errorf("%w: this node is stopping; ask another", ErrNotApplied)

func waitRefused(err error) error {
	return fmt.Errorf("%w: %w; try again later, or another node", ErrOverloaded, err)
}

// EndWaits ends the blocking queries and streams that wait, and those to come: the node stops. Doing it again does
// nothing.
func (s *Server) EndWaits() { s.stopOnce.Do(func() { close(s.stopping) }) }
