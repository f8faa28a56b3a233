package client

import (
	"container/heap"
	"context"
	"math/bits"
	"sync"
	"time"
)

const (
	// renewEarly is the fraction of its TTL by which a lease is renewed early if others are being renewed.
	renewEarly = 12
	// renewAgain is the fraction of a lease's remaining time between a renewal that no node granted and the next.
	renewAgain = 16
	// minRenewAgain is the least such time.
	minRenewAgain = 5 * time.Millisecond
	// releaseWait is the fraction of the TTL for which a release waits for a renewal in flight, at most.
	releaseWait = 8
)

// renewer renews all leases of a client. One goroutine runs while there are any. Each lease has a time at which it is
// looked at next: when it is to be renewed or, while a renewal is in flight, at its deadline.
type renewer struct {
	s    *sender
	now  func() time.Duration
	wake chan struct{} // something is due sooner than the goroutine knows

	mu      sync.Mutex
	leases  leaseHeap
	running bool
	closed  bool
}

func newRenewer(s *sender, now func() time.Duration) *renewer {
	return &renewer{s: s, now: now, wake: make(chan struct{}, 1)}
}

// add begins to renew a lease that was granted to a request of the time asked.
func (r *renewer) add(l *Lease, asked time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		l.lose(errClientClosed)
		return
	}
	l.dueAt = asked + l.ttl/renewalsPerTTL
	l.dueFrom = l.dueAt - l.ttl/renewEarly
	heap.Push(&r.leases, l)
	if !r.running {
		r.running = true
		go r.run()
	}
	r.notify()
}

// notify wakes the goroutine.
func (r *renewer) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// remove stops renewing a lease. It waits for a renewal in flight, but not long: a renewal that reaches a quorum after
// the release would keep the name for nobody.
func (r *renewer) remove(ctx context.Context, l *Lease) {
	r.mu.Lock()
	if l.heapIndex != notInHeap {
		heap.Remove(&r.leases, l.heapIndex)
	}
	inFlight := l.renewal
	r.mu.Unlock()
	if inFlight == nil {
		return
	}
	t := time.NewTimer(l.ttl / releaseWait)
	defer t.Stop()
	select {
	case <-inFlight.done:
	case <-t.C:
	case <-ctx.Done():
	}
}

// close loses all leases.
func (r *renewer) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, l := range r.leases {
		l.heapIndex = notInHeap
		l.lose(errClientClosed)
	}
	r.leases = nil
	r.notify()
}

// run renews the leases until there are none.
func (r *renewer) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		due, wait, ok := r.takeDue()
		if !ok {
			return
		}
		for _, n := range due {
			go func() {
				n.run(r.s, r.now)
				r.finish(n)
				close(n.done)
			}()
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-r.wake:
		}
	}
}

// takeDue drops lost leases and returns renewals of the due ones. wait is the time until another lease is due. ok is
// false if no leases are left.
func (r *renewer) takeDue() (due []*renewal, wait time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, open := r.now(), map[int]*renewal{}
	for len(r.leases) > 0 {
		l := r.leases[0]
		if l.dueFrom > now || l.dueAt > now && len(due) == 0 {
			break
		}
		if l.Err() != nil {
			heap.Pop(&r.leases)
			continue
		}
		if l.renewal == nil {
			due = addToRenewal(due, open, l, now)
		}
		r.schedule(l, l.deadline(), 0)
	}
	if len(r.leases) == 0 {
		r.running = false
		return nil, 0, false
	}
	return due, min(max(0, r.leases[0].dueAt-now), expiryCheck), true
}

// addToRenewal adds a lease to a renewal of leases with a similar time left, because the lease that ends first sets the
// pace of the renewal. open has the renewals with space left, by the logarithm of the time left.
func addToRenewal(due []*renewal, open map[int]*renewal, l *Lease, now time.Duration) []*renewal {
	left := max(0, l.deadline()-now)
	scale := bits.Len64(uint64(left))
	n := open[scale]
	if n == nil || len(n.items) == MaxLeaseRenewals {
		n = &renewal{soonest: left, done: make(chan struct{})}
		open[scale], due = n, append(due, n)
	}
	n.items, n.soonest = append(n.items, renewalItem{lease: l, open: true}), min(n.soonest, left)
	l.renewal = n
	return due
}

// schedule sets when a lease is looked at next, and by how much earlier that may be. r.mu is held.
func (r *renewer) schedule(l *Lease, at, early time.Duration) {
	if l.heapIndex == notInHeap {
		return // released meanwhile
	}
	l.dueAt, l.dueFrom = at, at-early
	heap.Fix(&r.leases, l.heapIndex)
}

// finish schedules the leases of a renewal that is over. Those that were not renewed are due again soon.
func (r *renewer) finish(n *renewal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for _, x := range n.items {
		l := x.lease
		l.renewal = nil
		if x.open {
			r.schedule(l, now+max(minRenewAgain, (l.deadline()-now)/renewAgain), 0)
		} else {
			r.schedule(l, x.asked+l.ttl/renewalsPerTTL, l.ttl/renewEarly)
		}
	}
	r.notify()
}

// leaseHeap is a heap of leases by dueAt.
type leaseHeap []*Lease

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h leaseHeap) Len() int           { return len(h) }
func (h leaseHeap) Less(i, j int) bool { return h[i].dueAt < h[j].dueAt }
func (h leaseHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].heapIndex, h[j].heapIndex = i, j
}

func (h *leaseHeap) Push(x any) {
	l := x.(*Lease)
	l.heapIndex = len(*h)
	*h = append(*h, l)
}

func (h *leaseHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	l.heapIndex = notInHeap
	*h, old[len(old)-1] = old[:len(old)-1], nil
	return l
}
