package runner

import (
	"context"
	"time"

	"tenure/lease/named"
	"tenure/server/replica/leases"
)

// Lease carries out r, whose ID it draws. When ctx ends, a request that waits ends at once, and an attempt under way
// ends at its next resend. The error is ErrOverloaded, ErrClosed or
// ErrEnded.
func (l *Leases) Lease(ctx context.Context, r leases.Request) (leases.Answer, error) {
	r.ID = l.nextID.Add(1)
	reply := make(chan leases.Answer, 1)
	if err := l.inbox.putClient(leasesEvent{reply: reply, Event: leases.Event{Request: &r}}); err != nil {
		return leases.Answer{}, err
	}
	done := ctx.Done()
	for {
		select {
		case a := <-reply:
			return a, nil
		case <-done:
			done = nil
			l.inbox.put(leasesEvent{Event: leases.Event{Cancel: r.ID}})
		case <-l.cfg.Lifecycle.Ended():
			return leases.Answer{}, ErrEnded
		}
	}
}

// Show returns what this node's acceptor knows of a name: a hint.
func (l *Leases) Show(name named.Name) (lease named.Lease, found bool) {
	type shown struct {
		lease named.Lease
		found bool
	}
	told := make(chan shown, 1)
	l.inbox.put(leasesEvent{Event: leases.Event{Call: func(now time.Duration) {
		lease, found := l.cfg.Part.Live(now, name)
		told <- shown{lease, found}
	}}})
	select {
	case s := <-told:
		return s.lease, s.found
	case <-l.cfg.Lifecycle.Ended():
		return named.Lease{}, false
	}
}

// Walk gives add, in one round, the next count records of this node's acceptor from place from on, and returns the
// place to go on from, or 0. The error is ErrOverloaded, ErrClosed, ErrEnded or ctx's; add may then be called yet.
func (l *Leases) Walk(ctx context.Context, from uint32, count int, add func(string, named.Lease)) (
	next uint32, err error) {
	done := make(chan uint32, 1)
	if err = l.inbox.putClient(leasesEvent{Event: leases.Event{Call: func(now time.Duration) {
		done <- l.cfg.Part.Walk(now, from, count, add)
	}}}); err != nil {
		return 0, err
	}
	select {
	case next = <-done:
		return next, nil
	case <-l.cfg.Lifecycle.Ended():
		return 0, ErrEnded
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Refuse answers those that wait; requests that come later are refused.
func (l *Leases) Refuse() {
	l.inbox.put(leasesEvent{Event: leases.Event{Stop: true}})
}

// View returns the newest published status. It is not changed any more.
func (l *Leases) View() *leases.Status { return l.view.Load() }

// QuarantineLeft returns how long the acceptor, which was restarted, stays silent about named leases from now on.
func (l *Leases) QuarantineLeft(now time.Duration) time.Duration {
	return max(0, l.cfg.SilentUntil-now)
}

// Era returns the era of this run's fencing tokens, 0 without one.
func (l *Leases) Era() uint32 {
	v := l.view.Load()
	if !v.Opened {
		return 0
	}
	return v.Floor.Era()
}
