package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tenure/api"
	"tenure/internal/leasehold"
)

// Lease is a lease that this process holds and renews. It is safe for concurrent use.
//
// How long it is held is reckoned on this machine's own clock, which includes suspend, from before the request that was
// granted last; a sixteenth of the TTL is left unused. So Held is false, and Lost closed, before anybody else can have
// the lease, as far as a process that runs can know, while the clocks' rates err by no more than the cluster is told
// (--clock-drift). Nothing helps a process that is stopped between asking Held and acting: against that the Fence does,
// with whatever the action is on.
//
// Renewals begin when a third of the TTL has passed, all leases of a Client together in as few requests as can be, and
// go to another node well before the end if one does not answer. No node matters to a lease that is held.
type Lease struct {
	c     *Client
	name  string
	owner string
	ttl   time.Duration
	lost  chan struct{}

	mu    sync.Mutex
	hold  leasehold.Hold // the judge of what is held
	grant string         // of the newest reply that counted
	err   error          // why it is lost
	last  error          // how the last renewal failed

	// The keeper's, under its lock.
	at    time.Duration // when the keeper looks at it next
	from  time.Duration // from when on it may, if it looks at others
	place int           // in the keeper's heap
	round *round        // the renewal under way
}

// noPlace is the place of a lease that the keeper does not keep.
const noPlace = -1

var (
	errLeaseReleased = errors.New("it was released here")
	errClientClosed  = errors.New("the client was closed")
	errLeaseGone     = errors.New("the cluster says that it is gone")
)

// Name is the lease's.
func (l *Lease) Name() string { return l.name }

// Owner is the text that others see.
func (l *Lease) Owner() string { return l.owner }

// TTL is how long the lease lasts after a renewal.
func (l *Lease) TTL() time.Duration { return l.ttl }

// Token is the fencing token: the largest that any grant of this tenure had. It may grow with a renewal, and never
// falls. Every token of a later owner is larger than all of this one's.
func (l *Lease) Token() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hold.Token()
}

// Fence is for the writes that the lease protects: with it in WriteOptions they are refused once a later owner's was
// seen. Ask for it anew with each write, or use one and the same with all writes of this tenure: an older one of one's
// own is refused as well.
func (l *Lease) Fence() Fence { return Fence{Name: "lease/" + l.name, Token: l.Token()} }

// Held tells whether the lease is held, by the clock. Ask it right before each action, and not Lost, where that is
// possible.
func (l *Lease) Held() bool { return l.Remaining() > 0 }

// Remaining is how long the lease is held yet if no renewal succeeds; 0 if it is lost.
func (l *Lease) Remaining() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.c.keeper().now()
	l.notice(now)
	if l.err != nil {
		return 0
	}
	return l.hold.Deadline() - now
}

// Deadline is about when the lease ends if no renewal succeeds, for timers; it is past if the lease is lost. Held is
// exact, and counts the time for which the machine sleeps.
func (l *Lease) Deadline() time.Time { return time.Now().Add(l.Remaining()) }

// Lost is closed when the lease is not held any more: it could not be renewed in time, the cluster says that it is
// gone, or Release or Client.Close was called.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Err is nil while the lease is held, and then an *Error of kind ErrLost that says why not. It looks at the clock, so
// it may know before Lost is closed.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notice(l.c.keeper().now())
	return l.err
}

// Release gives the lease free for the next one to have at once. Whatever comes of the request, it is not held here any
// more. If it was lost before, that is an error of kind ErrLost; what the cluster may still keep of it is released all
// the same.
func (l *Lease) Release(ctx context.Context) error {
	lost := l.Err()
	l.lose(errLeaseReleased)
	l.c.keeper().remove(ctx, l)
	l.mu.Lock()
	grant := l.grant
	l.mu.Unlock()
	err := l.c.releaseLease(ctx, l.name, api.LeaseRequest{Owner: l.owner, Grant: grant})
	if lost != nil {
		return lost
	}
	return err
}

// notice loses the lease if its time is over. l.mu is held.
func (l *Lease) notice(now time.Duration) {
	if l.err != nil || l.hold.Held(now) {
		return
	}
	why := errNotRenewed
	if l.last != nil {
		why = fmt.Errorf("%w: %w", errNotRenewed, l.last)
	}
	l.end(why)
}

// lose ends the lease here. Doing it again does nothing.
func (l *Lease) lose(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end(why)
}

// end is lose with l.mu held. No reply counts after it (N1).
func (l *Lease) end(why error) {
	if l.err != nil {
		return
	}
	l.hold.Release()
	l.err = &Error{Op: "lease", Key: l.name, Kind: ErrLost, Err: why}
	close(l.lost)
}

// take takes what a node has made of a renewal that was sent at asked, and tells whether the lease was renewed, and if
// not, whether it is worth trying again.
func (l *Lease) take(now, asked time.Duration, w *api.LeaseRenewal) (renewed, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notice(now)
	if l.err != nil {
		return false, false
	}
	if saysLost(w) {
		l.end(fmt.Errorf("%w: %s", errLeaseGone, withoutWords(oneLine([]byte(w.Error)), "gone")))
		return false, false
	}
	g, ok := grantOf(w, l.name)
	if w.Code != "" || w.Error != "" || !ok {
		l.last = problemOf(w)
		return false, true
	}
	before := l.hold.Token()
	if !l.hold.Take(now, leasehold.Reply{Asked: asked, TTL: lifeOf(min(l.ttl, g.TTL)), Token: g.Token, Renewal: true}) {
		l.last = errLate
		return false, true
	}
	// A copy that was slow on its way may bring an older grant than the one before it.
	if g.Token >= before {
		l.grant = g.Grant
	}
	l.last = nil
	return true, false
}

// failed notes that a request to renew failed as a whole.
func (l *Lease) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = err
}

// ask is the lease's part of a request to renew; ok is false if it is not held any more.
func (l *Lease) ask(now time.Duration) (b api.LeaseRequest, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notice(now)
	return api.LeaseRequest{Name: l.name, Owner: l.owner, Grant: l.grant, TTL: l.ttl.String()}, l.err == nil
}

// deadline is the reading of the clock at which the lease ends; 0 if it is lost.
func (l *Lease) deadline() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hold.Deadline()
}
