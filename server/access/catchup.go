package access

import (
	"fmt"
	"sync"
	"time"
)

const (
	// roundEvery is the least time between two rounds. All requests that would be refused meanwhile share the next
	// round, so it bounds the reads that refusals cost the master.
	roundEvery = 20 * time.Millisecond
	// roundFor bounds a round. Requests with less time leave before its end.
	roundFor = 5 * time.Second
	// maxSharing bounds the requests that wait for one round and that this node's state does not allow.
	maxSharing = 4096
	// keptSharing is the number of further places in a round, for requests that this node's state allows: many refused
	// strangers must not keep an operator out.
	keptSharing = 1024
)

// rounds makes this node catch up with the master, once for all requests that ask at about the same time. A request is
// served by a round that begins after its call.
type rounds struct {
	catchUp func(timeout time.Duration) error

	mu   sync.Mutex
	next *round // has not begun yet; nil: nobody waits for one
	runs bool   // a goroutine works on rounds
	last time.Time
}

type round struct {
	refused, known int           // how many share it
	done           chan struct{} // closed at its end
	err            error         // set by then
}

var errNothingKnown = fmt.Errorf("%w: this node does not know the tokens and policies yet", ErrUnsure)

// wait waits, at most for limit, until the end of a round that begins after the call. known says that this node's state
// allows the request. The errors wrap ErrUnsure.
func (r *rounds) wait(limit time.Duration, known bool) error {
	x := r.join(known)
	if x == nil {
		return fmt.Errorf("%w: too many requests wait already for this node to ask the master about tokens and policies",
			ErrUnsure)
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-x.done:
	case <-timer.C:
		return fmt.Errorf("%w: this node could not ask the master in time whether tokens or policies have changed",
			ErrUnsure)
	}
	if x.err != nil {
		return fmt.Errorf("%w: %w", ErrUnsure, x.err)
	}
	return nil
}

// join returns the next round, nil if too many share it already.
func (r *rounds) join(known bool) *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = &round{done: make(chan struct{})}
	}
	of, most := &r.next.refused, maxSharing
	if known {
		of, most = &r.next.known, keptSharing
	}
	if *of == most {
		return nil
	}
	*of++
	if !r.runs {
		r.runs = true
		go r.run()
	}
	return r.next
}

// run works on rounds until nobody waits for one.
func (r *rounds) run() {
	for {
		pause, wanted := r.pause()
		if !wanted {
			return
		}
		time.Sleep(pause)
		x := r.begin()
		x.err = r.catchUp(roundFor)
		close(x.done)
	}
}

// pause returns the time until the next round may begin. If nobody waits for one, wanted is false, and run ends.
func (r *rounds) pause() (left time.Duration, wanted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs = r.next != nil
	return roundEvery - time.Since(r.last), r.runs
}

// begin begins the next round: later callers share the round after it.
func (r *rounds) begin() *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.next
	r.next, r.last = nil, time.Now()
	return x
}
