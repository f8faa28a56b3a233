package client

import (
	"container/heap"
	"context"
	"math/bits"
	"sync"
	"time"
)

const (
	// renewEarly: a lease is renewed by that fraction of its TTL early if others are being renewed.
	renewEarly = 12
	// renewAgain: after a round of renewals in which no node renewed it a lease waits for that fraction of what is
	// left.
	renewAgain = 16
	// leaveRound: a release waits for that fraction of the TTL, at most, for a renewal that is on its way.
	leaveRound = 8
	// minRenewAgain keeps that wait from becoming none.
	minRenewAgain = 5 * time.Millisecond
)

// keeper renews all leases of a client. One goroutine looks after them while there are any: each lease has a time at
// which to look at it next, when it is to be renewed or, while a renewal is on its way, at its deadline.
type keeper struct {
	c    *Client
	now  func() time.Duration
	poke chan struct{} // something is due sooner than the goroutine knows

	mu      sync.Mutex
	leases  leaseHeap
	running bool
	closed  bool
}

func (c *Client) newKeeper() *keeper {
	k := &keeper{c: c, now: c.elapsed(), poke: make(chan struct{}, 1)}
	c.kept.Store(k)
	return k
}

// add keeps a lease that was granted to a request of that time.
func (k *keeper) add(l *Lease, asked time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		l.lose(errClientClosed)
		return
	}
	l.at = asked + l.ttl/renewals
	l.from = l.at - l.ttl/renewEarly
	heap.Push(&k.leases, l)
	if !k.running {
		k.running = true
		go k.run()
	}
	k.wake()
}

func (k *keeper) wake() {
	select {
	case k.poke <- struct{}{}:
	default:
	}
}

// remove stops keeping a lease. It waits a little for a renewal that is on its way: one that reaches a quorum behind
// the release would keep the name for nobody.
func (k *keeper) remove(ctx context.Context, l *Lease) {
	k.mu.Lock()
	if l.place != noPlace {
		heap.Remove(&k.leases, l.place)
	}
	r := l.round
	k.mu.Unlock()
	if r == nil {
		return
	}
	t := time.NewTimer(l.ttl / leaveRound)
	defer t.Stop()
	select {
	case <-r.done:
	case <-t.C:
	case <-ctx.Done():
	}
}

// close loses all leases.
func (k *keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	for _, l := range k.leases {
		l.place = noPlace
		l.lose(errClientClosed)
	}
	k.leases = nil
	k.wake()
}

// run looks after the leases until there are none.
func (k *keeper) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		rounds, wait, ok := k.look()
		if !ok {
			return
		}
		for _, r := range rounds {
			go k.renew(r)
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-k.poke:
		}
	}
}

// look takes what is due: it lets go of leases that are lost and returns rounds of those to be renewed. wait is until
// there is something due; ok is false if there are no leases left.
func (k *keeper) look() (rounds []*round, wait time.Duration, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now, open := k.now(), map[int]*round{}
	for len(k.leases) > 0 {
		l := k.leases[0]
		if l.from > now || l.at > now && len(rounds) == 0 {
			break
		}
		if l.Err() != nil {
			heap.Pop(&k.leases)
			continue
		}
		if l.round == nil {
			rounds = enlist(rounds, open, l, now)
		}
		k.schedule(l, l.deadline(), 0)
	}
	if len(k.leases) == 0 {
		k.running = false
		return nil, 0, false
	}
	return rounds, min(max(0, k.leases[0].at-now), expiryCheck), true
}

// enlist puts a lease into a round with others that have about as long to live: one that is about to end sets the pace
// for all of its round.
func enlist(rounds []*round, open map[int]*round, l *Lease, now time.Duration) []*round {
	left := max(0, l.deadline()-now)
	class := bits.Len64(uint64(left)) // it is not negative
	r := open[class]
	if r == nil || len(r.items) == MaxLeaseRenewals {
		r = &round{soonest: left, done: make(chan struct{})}
		open[class], rounds = r, append(rounds, r)
	}
	r.items, r.soonest = append(r.items, roundItem{lease: l, open: true}), min(r.soonest, left)
	l.round = r
	return rounds
}

// schedule has the lease looked at again at that time, or early if there is reason to. k.mu is held.
func (k *keeper) schedule(l *Lease, at, early time.Duration) {
	if l.place == noPlace {
		return // released meanwhile
	}
	l.at, l.from = at, at-early
	heap.Fix(&k.leases, l.place)
}

// over notes that a round is: a lease that was not renewed is due again soon.
func (k *keeper) over(r *round) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	for _, x := range r.items {
		l := x.lease
		l.round = nil
		if x.open {
			k.schedule(l, now+max(minRenewAgain, (l.deadline()-now)/renewAgain), 0)
		} else {
			k.schedule(l, x.asked+l.ttl/renewals, l.ttl/renewEarly)
		}
	}
	k.wake()
}

// leaseHeap has the lease that is due first in front.
type leaseHeap []*Lease

// Len, Less, Swap, Push and Pop are for package heap.
func (h leaseHeap) Len() int           { return len(h) }
func (h leaseHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h leaseHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *leaseHeap) Push(x any) {
	l := x.(*Lease)
	l.place = len(*h)
	*h = append(*h, l)
}

func (h *leaseHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	l.place = noPlace
	*h, old[len(old)-1] = old[:len(old)-1], nil
	return l
}
