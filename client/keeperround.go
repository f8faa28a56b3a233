package client

import (
	"context"
	"errors"
	"net/http"
	"time"

	"tenure/api"
)

const (
	// hedge: a node that has not answered within that fraction of what the leases have left is not waited for: the next
	// one is asked as well, and the first answer counts.
	hedge = 4
	// maxHedge is the longest wait for one node.
	maxHedge = time.Second
)

// round is one renewal of some leases: each node is asked once, until all is settled.
type round struct {
	items   []roundItem
	soonest time.Duration // until the first of them ends
	done    chan struct{} // closed when it is over
}

type roundItem struct {
	lease *Lease
	open  bool          // neither renewed nor lost yet
	asked time.Duration // before the request that has renewed it
}

// roundTry is one node's part in a round.
type roundTry struct {
	endpoint int
	numbers  []int // of the items that it was asked for
	asked    time.Duration
	wire     []api.LeaseRenewal // in their order
	err      error
}

// renew carries a round out. A node that hangs, refuses or has lost the others is followed by the next one.
func (k *keeper) renew(r *round) {
	ctx, cancel := context.WithTimeout(context.Background(), r.soonest)
	defer cancel()
	answers := make(chan *roundTry)
	n, first := len(k.c.endpoints), int(k.c.prefer.Load())
	asked, out := 0, 0
	next := time.NewTimer(0)
	defer next.Stop()
	for (asked < n || out > 0) && ctx.Err() == nil && r.left() {
		select {
		case <-next.C:
			if out > 0 {
				r.failed(errSilent)
			}
			if asked == n {
				continue
			}
			t, body := r.ask((first+asked)%n, k.now())
			asked, out = asked+1, out+1
			go func() {
				k.try(ctx, t, body)
				answers <- t
			}()
			next.Reset(min(r.soonest/hedge, maxHedge))
		case t := <-answers:
			out--
			k.settle(r, t)
			next.Reset(0)
		case <-ctx.Done():
		}
	}
	cancel() // those that have not answered have no more to tell
	for ; out > 0; out-- {
		k.settle(r, <-answers)
	}
	k.over(r)
	close(r.done)
}

// errSilent is why a lease was not renewed while nothing worse is known.
var errSilent = errors.New("no answer yet")

// failed notes why nothing was renewed so far.
func (r *round) failed(err error) {
	for i := range r.items {
		if r.items[i].open {
			r.items[i].lease.failed(err)
		}
	}
}

// left tells whether there is anything to be done yet.
func (r *round) left() bool {
	for i := range r.items {
		if r.items[i].open {
			return true
		}
	}
	return false
}

// ask makes a request for what is open, or for as much of it as a request holds.
func (r *round) ask(endpoint int, now time.Duration) (*roundTry, []byte) {
	t := &roundTry{endpoint: endpoint}
	var list renewalList
	for i := range r.items {
		x := &r.items[i]
		if !x.open {
			continue
		}
		b, ok := x.lease.ask(now)
		if x.open = ok; !ok {
			continue
		}
		if !list.add(b) {
			break
		}
		t.numbers = append(t.numbers, i)
	}
	return t, list.json()
}

// try sends a request to one node.
func (k *keeper) try(ctx context.Context, t *roundTry, body []byte) {
	if len(t.numbers) == 0 {
		return
	}
	r := request{method: http.MethodPost, path: api.PathLeasesRenew, body: body, harmless: true, patient: true}
	t.asked = k.now()
	a, _, err := k.c.exchange(ctx, t.endpoint, r)
	switch {
	case err != nil:
		t.err = err
	case a.status != http.StatusOK:
		t.err = a.err()
	default:
		t.wire, t.err = decodeGrants(a, len(t.numbers))
	}
}

// settle takes what a node has answered. The next calls of the client go to a node that could tell about some lease at
// least.
func (k *keeper) settle(r *round, t *roundTry) {
	if len(t.numbers) == 0 {
		return
	}
	now, told := k.now(), false
	for i, number := range t.numbers {
		x := &r.items[number]
		switch {
		case !x.open:
		case t.err != nil:
			x.lease.failed(t.err)
		default:
			var renewed bool
			if renewed, x.open = x.lease.take(now, t.asked, &t.wire[i]); renewed {
				x.asked = t.asked
			}
			told = told || !x.open
		}
	}
	if told {
		k.c.prefer.Store(int32(t.endpoint))
		return
	}
	k.c.prefer.CompareAndSwap(int32(t.endpoint), int32((t.endpoint+1)%len(k.c.endpoints)))
}
