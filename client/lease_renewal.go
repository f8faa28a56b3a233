package client

import (
	"context"
	"errors"
	"net/http"
	"time"

	"tenure/api"
)

const (
	// hedge is the fraction of the leases' remaining time after which the renewal stops waiting for a silent node
	// alone: it asks the next one as well, and the first answer counts.
	hedge = 4
	// maxHedge is the longest wait for one node.
	maxHedge = time.Second
)

// renewal is one renewal of some leases. Each node is asked once at most, until every lease is renewed or lost.
type renewal struct {
	items   []renewalItem
	soonest time.Duration // until the first of the leases ends
	done    chan struct{} // closed when the renewal is over
}

type renewalItem struct {
	lease *Lease
	open  bool          // neither renewed nor lost yet
	asked time.Duration // before the request that has renewed it
}

// renewalTry is a request to one node.
type renewalTry struct {
	endpoint *endpoint
	items    []int // indexes of the items in the request
	asked    time.Duration
	wire     []api.LeaseRenewal // the answer, in the order of items
	err      error
}

// run asks one node after the other, without waiting long for one that is silent.
func (n *renewal) run(s *sender, now func() time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), n.soonest)
	defer cancel()
	answers := make(chan *renewalTry)
	nodes := s.endpoints.inOrder()
	asked, inFlight := 0, 0
	next := time.NewTimer(0)
	defer next.Stop()
	for (asked < len(nodes) || inFlight > 0) && ctx.Err() == nil && n.isOpen() {
		select {
		case <-next.C:
			if inFlight > 0 {
				n.failed(errSilent)
			}
			if asked == len(nodes) {
				continue
			}
			t, body := n.prepare(nodes[asked], now())
			asked, inFlight = asked+1, inFlight+1
			go func() {
				t.send(ctx, s, now, body)
				answers <- t
			}()
			next.Reset(min(n.soonest/hedge, maxHedge))
		case t := <-answers:
			inFlight--
			n.answered(s, t, now())
			next.Reset(0)
		case <-ctx.Done():
		}
	}
	cancel() // nothing that is still in flight can help
	for ; inFlight > 0; inFlight-- {
		n.answered(s, <-answers, now())
	}
}

// errSilent is why a lease was not renewed while no other reason is known.
var errSilent = errors.New("no answer yet")

// failed records why nothing was renewed so far.
func (n *renewal) failed(err error) {
	for i := range n.items {
		if n.items[i].open {
			n.items[i].lease.renewalFailed(err)
		}
	}
}

// isOpen reports whether a lease is neither renewed nor lost.
func (n *renewal) isOpen() bool {
	for i := range n.items {
		if n.items[i].open {
			return true
		}
	}
	return false
}

// prepare returns a request for the open items, or for as many of them as a request holds.
func (n *renewal) prepare(e *endpoint, now time.Duration) (*renewalTry, []byte) {
	t := &renewalTry{endpoint: e}
	var list renewalList
	for i := range n.items {
		x := &n.items[i]
		if !x.open {
			continue
		}
		b, ok := x.lease.renewalRequest(now)
		if x.open = ok; !ok {
			continue
		}
		if !list.add(b) {
			break
		}
		t.items = append(t.items, i)
	}
	return t, list.json()
}

// send sends the request to its node.
func (t *renewalTry) send(ctx context.Context, s *sender, now func() time.Duration, body []byte) {
	if len(t.items) == 0 {
		return
	}
	r := request{
		method: http.MethodPost, path: api.PathLeasesRenew, body: body, idempotent: true, noSilenceLimit: true,
	}
	t.asked = now()
	a, _, err := s.exchange(ctx, t.endpoint, r)
	switch {
	case err != nil:
		t.err = err
	case a.status != http.StatusOK:
		t.err = a.failure()
	default:
		t.wire, t.err = decodeRenewals(a, len(t.items))
	}
}

// answered takes the answer of a node. A node that has settled at least one lease is preferred from then on.
func (n *renewal) answered(s *sender, t *renewalTry, now time.Duration) {
	if len(t.items) == 0 {
		return
	}
	useful := false
	for i, index := range t.items {
		x := &n.items[index]
		switch {
		case !x.open:
		case t.err != nil:
			x.lease.renewalFailed(t.err)
		default:
			var renewed bool
			if renewed, x.open = x.lease.renewed(now, t.asked, &t.wire[i]); renewed {
				x.asked = t.asked
			}
			useful = useful || !x.open
		}
	}
	if useful {
		s.endpoints.prefer(t.endpoint)
	} else {
		s.endpoints.avoid(t.endpoint)
	}
}
