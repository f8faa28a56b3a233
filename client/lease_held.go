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
// Its time is measured with this machine's clock, which includes suspend, from before the request that was granted
// last. A sixteenth of the TTL is left unused. So Held returns false, and Lost is closed, before anybody else can have
// the lease, as long as the process runs and the clock rates err by no more than the cluster is told (--clock-drift). A
// process that is stopped between Held and the action that it protects may act too late; use the Fence against that.
//
// Renewals begin when a third of the TTL has passed, for all leases of a Client in as few requests as possible, and go
// to another node well before the end if one does not answer. A held lease does not depend on any single node.
type Lease struct {
	s       *sender
	renewer *renewer
	name    string
	owner   string
	ttl     time.Duration
	lost    chan struct{}

	mu        sync.Mutex
	hold      leasehold.Hold // decides whether the lease is held
	grant     string         // the newest
	err       error          // why it is lost
	lastError error          // how the last renewal failed

	// The rest belongs to the renewer, under its mutex.
	dueAt     time.Duration // when the renewer looks at it next
	dueFrom   time.Duration // from when it may, if others are due
	heapIndex int
	renewal   *renewal // in flight
}

// notInHeap is the heapIndex of a lease that the renewer does not have.
const notInHeap = -1

var (
	errLeaseReleased = errors.New("it was released here")
	errClientClosed  = errors.New("the client was closed")
	errLeaseEnded    = errors.New("the cluster says that it has ended")
)

// Name returns the name of the lease.
func (l *Lease) Name() string { return l.name }

// Owner returns the owner that others see.
func (l *Lease) Owner() string { return l.owner }

// TTL returns how long the lease lasts after a renewal.
func (l *Lease) TTL() time.Duration { return l.ttl }

// Token returns the fencing token: the largest of all grants of this tenure. It may grow with a renewal, and never
// falls. Every token of a later owner is larger.
func (l *Lease) Token() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hold.Token()
}

// Fence returns the fence for the writes that the lease protects. With it in WriteOptions they are refused once the
// fence of a later owner was seen. Call it for each write, or use the first one for all writes of this tenure: an older
// fence of the same owner is refused too.
func (l *Lease) Fence() Fence { return Fence{Name: "lease/" + l.name, Token: l.Token()} }

// Held reports whether the lease is held, by the clock. If possible, call it right before each action instead of
// waiting for Lost.
func (l *Lease) Held() bool { return l.Remaining() > 0 }

// Remaining returns how long the lease is held if no renewal succeeds; 0 if it is lost.
func (l *Lease) Remaining() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.renewer.now()
	l.checkExpiry(now)
	if l.err != nil {
		return 0
	}
	return l.hold.Deadline() - now
}

// Deadline returns about when the lease ends if no renewal succeeds, for timers; it is past if the lease is lost. Held
// is exact, and counts the time for which the machine sleeps.
func (l *Lease) Deadline() time.Time { return time.Now().Add(l.Remaining()) }

// Lost is closed when the lease is not held any more: it could not be renewed in time, the cluster says that it has
// ended, or Release or Client.Close was called.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Err returns nil while the lease is held, and then an *Error of kind ErrLost that says why it is not. It reads the
// clock, so it may know before Lost is closed.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checkExpiry(l.renewer.now())
	return l.err
}

// Release releases the lease, so that the next owner can have it at once. Whatever the result, it is not held here any
// more. If it was lost before, the error is of kind ErrLost; what the cluster may still have of it is released all the
// same.
func (l *Lease) Release(ctx context.Context) error {
	lost := l.Err()
	l.lose(errLeaseReleased)
	l.renewer.remove(ctx, l)
	l.mu.Lock()
	grant := l.grant
	l.mu.Unlock()
	err := releaseLease(ctx, l.s, l.name, api.LeaseRequest{Owner: l.owner, Grant: grant})
	if lost != nil {
		return lost
	}
	return err
}

// checkExpiry loses the lease if its time is over. l.mu is held.
func (l *Lease) checkExpiry(now time.Duration) {
	if l.err != nil || l.hold.Held(now) {
		return
	}
	why := errNotRenewed
	if l.lastError != nil {
		why = fmt.Errorf("%w: %w", errNotRenewed, l.lastError)
	}
	l.end(why)
}

// lose ends the lease here. A second call does nothing.
func (l *Lease) lose(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end(why)
}

// end is lose with l.mu held. No answer counts after it (N1).
func (l *Lease) end(why error) {
	if l.err != nil {
		return
	}
	l.hold.Release()
	l.err = &Error{Op: "lease", Key: l.name, Kind: ErrLost, Err: why}
	close(l.lost)
}

// renewed takes the answer of a node to a renewal that was sent at asked. ok reports whether the lease was renewed, and
// retry whether another try can help if not.
func (l *Lease) renewed(now, asked time.Duration, w *api.LeaseRenewal) (ok, retry bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checkExpiry(now)
	if l.err != nil {
		return false, false
	}
	if hasEnded(w) {
		l.end(fmt.Errorf("%w: %s", errLeaseEnded, withoutPrefix(oneLine([]byte(w.Error)), "gone")))
		return false, false
	}
	g, ok := grantOf(w, l.name)
	if w.Code != "" || w.Error != "" || !ok {
		l.lastError = renewalError(w)
		return false, true
	}
	before := l.hold.Token()
	reply := leasehold.Reply{Asked: asked, TTL: usableTTL(min(l.ttl, g.TTL)), Token: g.Token, Renewal: true}
	if !l.hold.Take(now, reply) {
		l.lastError = errLate
		return false, true
	}
	// A copy that was slow may bring an older grant than the one before it.
	if g.Token >= before {
		l.grant = g.Grant
	}
	l.lastError = nil
	return true, false
}

// renewalFailed records that a request to renew failed as a whole.
func (l *Lease) renewalFailed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastError = err
}

// renewalRequest returns the lease's part of a request to renew; ok is false if it is not held any more.
func (l *Lease) renewalRequest(now time.Duration) (b api.LeaseRequest, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checkExpiry(now)
	return api.LeaseRequest{Name: l.name, Owner: l.owner, Grant: l.grant, TTL: l.ttl.String()}, l.err == nil
}

// deadline returns the reading of the clock at which the lease ends; 0 if it is lost.
func (l *Lease) deadline() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hold.Deadline()
}
