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

// acquisition is one attempt at a lease, through whatever nodes: all its requests carry one id, so the cluster counts
// them as one.
type acquisition struct {
	c     *Client
	name  string
	o     LeaseOptions // settled
	drawn bool         // the id is known here only
	now   func() time.Duration

	hold    leasehold.Hold
	granted LeaseGrant
	asked   time.Duration // before the request that was granted, or before the node began to ask for it
	doubt   bool          // the cluster may have granted it
	parting time.Duration // for the release of what is given up
	busy    *BusyError    // what the last answer was, if it was that
	silent  *SilentError  // likewise
}

func (c *Client) newAcquisition(name string, o LeaseOptions) (*acquisition, error) {
	a := &acquisition{c: c, name: name, o: o, drawn: true}
	if err := a.o.settle(name); err != nil {
		return nil, a.fail(ErrInvalid, err)
	}
	a.now = c.elapsed()
	return a, nil
}

func (a *acquisition) fail(kind, err error) error {
	return &Error{Op: "acquire lease", Key: a.name, Kind: kind, Err: err}
}

// errLate is a grant that came when it was of no more use.
var errLate = errors.New("the grant came too late: the answer took longer than the TTL")

// run asks until there is a grant that counts, or none to be had. The time of a grant counts from before the request,
// or from when the node says that it has stopped waiting for others; if too little is left of it, it is asked for
// again, with the same id and without a wait.
func (a *acquisition) run(ctx context.Context) error {
	ctx, cancel := a.bounded(ctx)
	defer cancel()
	end := time.Now().Add(a.o.Wait)
	a.parting = giveUpTime
	if last, ok := ctx.Deadline(); ok {
		a.parting = min(giveUpTime, time.Until(last)/4)
	}
	tries, confirm := a.c.rounds(), false
	for {
		e, err := tries.next(ctx)
		if err != nil {
			return a.giveUp(ctx, ErrNotApplied, err)
		}
		wait := time.Duration(0)
		if !confirm {
			wait = a.wait(ctx, end)
		}
		v := a.try(ctx, e, wait)
		switch {
		case v.word == settled && v.kind == nil && a.counts(wait):
			tries.answered(e)
			return nil
		case v.word == settled && v.kind == nil && wait > 0:
			a.c.prefer.Store(int32(e))
			tries, confirm = a.c.rounds(), true
			continue
		case v.word == settled && v.kind == nil:
			v.err = errLate
		case v.word == settled:
			tries.answered(e)
			if err := a.queue(ctx, wait, end); err != nil {
				return a.giveUp(ctx, v.kind, v.err)
			}
			tries, confirm = a.c.rounds(), false
			continue
		case v.word == refused || v.word == lost:
			return a.giveUp(ctx, v.kind, v.err)
		}
		tries.failed(e, v.err)
	}
}

// bounded gives ctx the time to wait and the configured timeout, if it has no deadline and the wait an end.
func (a *acquisition) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok || a.o.Wait == NoWaitLimit {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.o.Wait+a.c.cfg.Timeout)
}

// wait is for how long the next node is asked to queue. The node is to say "busy" before the call ends: a request that
// is cut leaves a doubt.
func (a *acquisition) wait(ctx context.Context, end time.Time) time.Duration {
	d := maxLeaseWait
	if a.o.Wait != NoWaitLimit {
		d = min(d, time.Until(end))
	}
	if last, ok := ctx.Deadline(); ok {
		d = min(d, time.Until(last)-2*lastChance)
	}
	return max(d, 0).Truncate(time.Millisecond)
}

// try asks one node.
func (a *acquisition) try(ctx context.Context, endpoint int, wait time.Duration) verdict {
	body := api.LeaseRequest{Owner: a.o.Owner, TTL: a.o.TTL.String(), Acquisition: a.o.Acquisition}
	// A grant that takes longer than this is void.
	silence := min(a.c.cfg.AttemptTimeout, lifeOf(a.o.TTL))
	if wait > 0 {
		body.Wait = wait.String()
		silence = wait + a.c.cfg.AttemptTimeout
	}
	r := request{
		method: http.MethodPost, path: leasePath(a.name, api.LeaseAcquire), body: encode(body),
		harmless: true, silence: silence}
	a.busy, a.silent = nil, nil
	a.asked = a.now()
	got, sent, err := a.c.exchange(ctx, endpoint, r)
	v := judge(got, sent, err, a.understand)
	a.doubt = a.doubt || v.word == unknown || v.word == settled && v.kind == nil
	return v
}

func (a *acquisition) understand(got answer) (kind, err error, ok bool) {
	switch {
	case got.status == http.StatusOK:
		g, waited, ok := decodeGrant(got.body, a.name)
		a.granted, a.asked = g, min(a.asked+waited, a.now())
		return nil, nil, ok
	case got.code() == api.CodeBusy:
		a.busy = decodeBusy(got)
		return ErrBusy, a.busy, true
	case got.code() == api.CodeQuarantine:
		a.silent = decodeSilent(got)
		return ErrBusy, a.silent, true
	}
	return nil, nil, false
}

// counts takes the grant that has come, if it is of use. One that had to wait must have so much time left that it can
// be renewed.
func (a *acquisition) counts(waited time.Duration) bool {
	now, life := a.now(), lifeOf(min(a.o.TTL, a.granted.TTL))
	if waited > 0 && a.asked+life/2 < now {
		return false
	}
	return a.hold.Take(now, leasehold.Reply{Asked: a.asked, TTL: life, Token: a.granted.Token})
}

// queue makes ready for the next try for a lease that is busy, or that nobody can acquire yet, or says that the time to
// wait is over. waited is for how long the node was to queue; it may have had no space for that.
func (a *acquisition) queue(ctx context.Context, waited time.Duration, end time.Time) error {
	if a.silent != nil && a.o.Silent != nil {
		a.o.Silent(a.silent)
	}
	if a.o.Wait == 0 || a.o.Wait > 0 && !time.Now().Before(end) {
		return context.DeadlineExceeded
	}
	if waited > 0 && a.now()-a.asked >= waited-waited/waitJitter {
		return ctx.Err()
	}
	d := busyPause
	if hint := a.hint(); hint > 0 {
		d = min(d, hint)
	}
	if a.o.Wait > 0 {
		d = min(d, time.Until(end))
	}
	return pause(ctx, max(d, firstBackoff), 0)
}

// hint is when to try again by what the last answer says; 0: it says nothing.
func (a *acquisition) hint() time.Duration {
	if a.silent != nil {
		return a.silent.Begins
	}
	if a.busy == nil {
		return 0
	}
	return a.busy.RetryAfter
}

// giveUp releases what the cluster may have granted: the release is final, so no request of this acquisition that still
// wanders about is of any use to anybody, and none keeps the name for longer than a TTL.
func (a *acquisition) giveUp(ctx context.Context, kind, err error) error {
	if a.doubt && a.drawn {
		a.hold.Release()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(a.parting, lastChance))
		defer cancel()
		a.doubt = a.c.releaseLease(ctx, a.name, api.LeaseRequest{Owner: a.o.Owner, Acquisition: a.o.Acquisition}) != nil
	}
	if (kind == ErrNotApplied || kind == ErrBusy && a.silent != nil) && a.doubt {
		kind, err = ErrUnknown, fmt.Errorf("%w; it may be granted, and the name taken for as long as %v", err, a.o.TTL)
	}
	if kind == ErrNotApplied && a.busy != nil {
		kind, err = ErrBusy, a.busy
	}
	if kind == ErrNotApplied && a.silent != nil {
		kind, err = ErrBusy, a.silent
	}
	return a.fail(kind, err)
}
