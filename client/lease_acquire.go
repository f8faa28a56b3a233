package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"tenure/api"
	"tenure/internal/leasehold"
)

const (
	// maxLeaseWait is how long one node is asked to wait for a busy lease. A node that is silent is left after that.
	maxLeaseWait = 15 * time.Second
	// maxBusyPause bounds the pause between tries for a lease that is busy.
	maxBusyPause = time.Second
	// maxReleaseTime is how long the release of an acquisition that was given up may take beyond its context. A call
	// with less than four times of it takes a quarter of the time that it has.
	maxReleaseTime = time.Second
)

// Acquire acquires a lease and renews it until Release, or until it is lost. The deadline of ctx bounds only the
// acquisition.
//
// The error is ErrBusy if somebody else holds the lease for longer than o.Wait (with a *BusyError), or if no lease can
// be granted for longer than that because nodes have restarted (with a *QuarantineError). It is ErrUnknown if the
// cluster may have granted the lease all the same; then the name may stay taken for a TTL. An acquisition that is given
// up is released. For that the call may take longer than ctx: a quarter of its time, but not more than a second.
func (c *Leases) Acquire(ctx context.Context, name string, o LeaseOptions) (*Lease, error) {
	if o.Acquisition != "" {
		err := errors.New("LeaseOptions.Acquisition is for Grant")
		return nil, &Error{Op: "acquire lease", Key: name, Kind: ErrInvalid, Err: err}
	}
	a, err := newAcquisition(c.s, c.now, name, o)
	if err != nil {
		return nil, err
	}
	if err := a.run(ctx); err != nil {
		return nil, err
	}
	l := &Lease{
		s: c.s, renewer: c.renewer, name: name, owner: a.o.Owner, ttl: a.o.TTL,
		lost: make(chan struct{}), hold: a.hold, grant: a.granted.Grant, heapIndex: notInHeap,
	}
	c.renewer.add(l, a.asked)
	return l, nil
}

// Grant acquires a lease for one TTL. The caller renews and releases it: for scripts, which do that in another process.
// If o.Acquisition is given, the same call may be repeated after an ErrUnknown, and nothing is released when the call
// gives up. Errors are as for Acquire.
func (c *Leases) Grant(ctx context.Context, name string, o LeaseOptions) (LeaseGrant, error) {
	a, err := newAcquisition(c.s, c.now, name, o)
	if err != nil {
		return LeaseGrant{}, err
	}
	a.mayRelease = o.Acquisition == ""
	if err := a.run(ctx); err != nil {
		return LeaseGrant{}, err
	}
	g := a.granted
	g.Left = a.hold.Deadline() - a.now()
	return g, nil
}

// acquisition is one attempt to acquire a lease, through any nodes. All its requests carry one ID, so the cluster
// counts them as one.
type acquisition struct {
	s          *sender
	now        func() time.Duration
	name       string
	o          LeaseOptions // with defaults
	mayRelease bool         // nobody else knows the ID, so giving up releases it

	hold        leasehold.Hold
	granted     LeaseGrant
	asked       time.Duration // before the request that was granted, or before the node began to ask for it
	doubt       bool          // the cluster may have granted the lease
	releaseTime time.Duration // for the release when the call gives up

	// The last answer, if it was one of these.
	busy       *BusyError
	quarantine *QuarantineError
}

func newAcquisition(s *sender, now func() time.Duration, name string, o LeaseOptions) (*acquisition, error) {
	a := &acquisition{s: s, now: now, name: name, o: o, mayRelease: true}
	a.o.setDefaults()
	if err := a.o.check(name); err != nil {
		return nil, a.fail(ErrInvalid, err)
	}
	return a, nil
}

func (a *acquisition) fail(kind, err error) error {
	return &Error{Op: "acquire lease", Key: a.name, Kind: kind, Err: err}
}

// errLate is the error for a grant that came too late to be used.
var errLate = errors.New("the grant came too late: the answer took longer than the TTL")

// run asks until a grant can be used or none can be had. The time of a grant counts from before the request, or from
// when the node had waited for other owners. If too little of it is left, run confirms it: it asks again with the same
// ID and without a wait.
func (a *acquisition) run(ctx context.Context) error {
	ctx, cancel := a.bounded(ctx)
	defer cancel()
	end := time.Now().Add(a.o.Wait)
	a.releaseTime = maxReleaseTime
	if last, ok := ctx.Deadline(); ok {
		a.releaseTime = min(maxReleaseTime, time.Until(last)/4)
	}
	a.s.findLive(ctx)
	tries, confirm := a.s.tries(), false
	for {
		e, err := tries.next(ctx)
		if err != nil {
			return a.giveUp(ctx, ErrNotApplied, err)
		}
		wait := time.Duration(0)
		if !confirm {
			wait = a.wait(ctx, end)
		}
		o := a.try(ctx, e, wait)
		switch {
		case o.class == decided && o.kind == nil && a.accept(wait):
			tries.succeeded(e)
			return nil
		case o.class == decided && o.kind == nil && wait > 0:
			a.s.endpoints.prefer(e)
			tries, confirm = a.s.tries(), true
			continue
		case o.class == decided && o.kind == nil:
			o.err = errLate
		case o.class == decided:
			tries.succeeded(e)
			if err := a.pause(ctx, wait, end); err != nil {
				return a.giveUp(ctx, o.kind, o.err)
			}
			tries, confirm = a.s.tries(), false
			continue
		case o.class == refused || o.class == forgotten:
			return a.giveUp(ctx, o.kind, o.err)
		}
		tries.failed(e, o.err)
	}
}

// bounded returns ctx with the wait and the configured timeout as its deadline, if it has none and the wait has an end.
func (a *acquisition) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok || a.o.Wait == NoWaitLimit {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.o.Wait+a.s.cfg.Timeout)
}

// wait returns how long the next node is asked to wait. The node should answer "busy" before the call ends, because a
// request that is cut leaves a doubt.
func (a *acquisition) wait(ctx context.Context, end time.Time) time.Duration {
	d := maxLeaseWait
	if a.o.Wait != NoWaitLimit {
		d = min(d, time.Until(end))
	}
	if last, ok := ctx.Deadline(); ok {
		d = min(d, time.Until(last)-2*minTryTime)
	}
	return max(d, 0).Truncate(time.Millisecond)
}

// try asks one node.
func (a *acquisition) try(ctx context.Context, e *endpoint, wait time.Duration) outcome {
	body := api.LeaseRequest{Owner: a.o.Owner, TTL: a.o.TTL.String(), Acquisition: a.o.Acquisition}
	// A grant that takes longer than its usable TTL is void.
	limit := min(a.s.cfg.AttemptTimeout, usableTTL(a.o.TTL))
	if wait > 0 {
		body.Wait = wait.String()
		limit = wait + a.s.cfg.AttemptTimeout
	}
	r := request{
		method: http.MethodPost, path: leasePath(a.name, api.LeaseAcquire), body: encode(body),
		idempotent: true, silenceLimit: limit,
	}
	a.busy, a.quarantine = nil, nil
	a.asked = a.now()
	got, sent, err := a.s.exchange(ctx, e, r)
	o := classify(got, sent, err, a.interpret)
	a.doubt = a.doubt || o.class == unknown || o.class == decided && o.kind == nil
	return o
}

func (a *acquisition) interpret(got answer) (kind, err error, ok bool) {
	switch {
	case got.status == http.StatusOK:
		g, waited, ok := decodeGrant(got.body, a.name)
		a.granted, a.asked = g, min(a.asked+waited, a.now())
		return nil, nil, ok
	case got.code() == api.CodeBusy:
		a.busy = decodeBusy(got)
		return ErrBusy, a.busy, true
	case got.code() == api.CodeQuarantine:
		a.quarantine = decodeQuarantine(got)
		return ErrBusy, a.quarantine, true
	}
	return nil, nil, false
}

// accept takes the grant and reports whether it can be used. A grant after a wait must have so much time left that it
// can be renewed.
func (a *acquisition) accept(waited time.Duration) bool {
	now, usable := a.now(), usableTTL(min(a.o.TTL, a.granted.TTL))
	if waited > 0 && a.asked+usable/2 < now {
		return false
	}
	return a.hold.Take(now, leasehold.Reply{Asked: a.asked, TTL: usable, Token: a.granted.Token})
}

// pause waits before the next try for a lease that cannot be had yet. It returns an error if the time to wait is over.
// waited is how long the node was asked to wait; it may have answered at once because too many wait there.
func (a *acquisition) pause(ctx context.Context, waited time.Duration, end time.Time) error {
	if a.quarantine != nil && a.o.OnQuarantine != nil {
		a.o.OnQuarantine(a.quarantine)
	}
	if a.o.Wait == 0 || a.o.Wait > 0 && !time.Now().Before(end) {
		return context.DeadlineExceeded
	}
	if waited > 0 && a.now()-a.asked >= waited-waited/waitJitter {
		return ctx.Err()
	}
	d := maxBusyPause
	if hint := a.retryAfter(); hint > 0 {
		d = min(d, hint)
	}
	if a.o.Wait > 0 {
		d = min(d, time.Until(end))
	}
	return pause(ctx, max(d, firstBackoff), 0)
}

// retryAfter returns when to try again by the last answer; 0 if it does not say.
func (a *acquisition) retryAfter() time.Duration {
	if a.quarantine != nil {
		return a.quarantine.Remaining
	}
	if a.busy == nil {
		return 0
	}
	return a.busy.RetryAfter
}

// giveUp releases what the cluster may have granted and returns the error. The release is final: no request of this
// acquisition that arrives later keeps the name for longer than a TTL.
func (a *acquisition) giveUp(ctx context.Context, kind, err error) error {
	if a.doubt && a.mayRelease {
		a.hold.Release()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(a.releaseTime, minTryTime))
		defer cancel()
		body := api.LeaseRequest{Owner: a.o.Owner, Acquisition: a.o.Acquisition}
		a.doubt = releaseLease(ctx, a.s, a.name, body) != nil
	}
	if (kind == ErrNotApplied || kind == ErrBusy && a.quarantine != nil) && a.doubt {
		kind = ErrUnknown
		err = fmt.Errorf("%w; it may have been granted, and the name be taken for up to %v", err, a.o.TTL)
	}
	if kind == ErrNotApplied && a.busy != nil {
		kind, err = ErrBusy, a.busy
	}
	if kind == ErrNotApplied && a.quarantine != nil {
		kind, err = ErrBusy, a.quarantine
	}
	return a.fail(kind, err)
}
