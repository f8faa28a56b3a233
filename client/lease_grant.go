package client

import (
	"context"
	"errors"
	"net/http"
	"time"

	"tenure/api"
)

// LeaseRenewal is the result of one lease of Leases.RenewAll: the next grant, or an Err of kind ErrLost, ErrNotApplied
// or ErrUnknown.
type LeaseRenewal struct {
	LeaseGrant
	Err error
}

// Renew restarts the TTL of a lease and returns the grant to use from now on. g.Name, Owner, Grant and TTL count; a TTL
// of 0 is the one that the lease had. If the error is ErrLost, the lease has ended: acquire it anew. After any other
// error it lasts as long as before, or longer. A renewal may be repeated, through any node. Of calls at a time for one
// lease ErrLost does not count if another one was granted since that call began.
func (c *Leases) Renew(ctx context.Context, g LeaseGrant) (LeaseGrant, error) {
	const op = "renew lease"
	if err := g.check(); err != nil {
		return LeaseGrant{}, &Error{Op: op, Key: g.Name, Kind: ErrInvalid, Err: err}
	}
	var asked time.Duration
	var next LeaseGrant
	r := request{
		method: http.MethodPost, path: leasePath(g.Name, api.LeaseRenew), body: encode(g.request(false)),
		idempotent: true, silenceLimit: min(c.s.cfg.AttemptTimeout, usableTTL(g.TTL)),
		beforeTry: func() { asked = c.now() },
		interpret: interpretGrant(g.Name, &next),
	}
	if _, err := c.s.write(ctx, op, g.Name, r, Once{}); err != nil {
		return LeaseGrant{}, err
	}
	next.Left = asked + g.usable(next.TTL) - c.now()
	return next, nil
}

// RenewAll renews many leases, MaxLeaseRenewals in each request, and returns their results in the same order. The error
// is that of the first request that failed as a whole; the leases from there on have it too.
func (c *Leases) RenewAll(ctx context.Context, list []LeaseGrant) ([]LeaseRenewal, error) {
	ctx, cancel := c.s.bounded(ctx)
	defer cancel()
	out := make([]LeaseRenewal, 0, len(list))
	for _, g := range list {
		if err := g.check(); err != nil {
			return nil, &Error{Op: "renew leases", Key: g.Name, Kind: ErrInvalid, Err: err}
		}
	}
	for len(out) < len(list) {
		done, err := c.renewSome(ctx, list[len(out):])
		if err != nil {
			for range list[len(out):] {
				out = append(out, LeaseRenewal{Err: err})
			}
			return out, err
		}
		out = append(out, done...)
	}
	return out, nil
}

// renewSome renews as many leases from the front of list as one request holds.
func (c *Leases) renewSome(ctx context.Context, list []LeaseGrant) ([]LeaseRenewal, error) {
	var text renewalList
	for _, g := range list {
		if !text.add(g.request(true)) {
			break
		}
	}
	list = list[:text.n]
	var asked time.Duration
	var out []LeaseRenewal
	r := request{
		method: http.MethodPost, path: api.PathLeasesRenew, body: text.json(), idempotent: true,
		beforeTry: func() { asked = c.now() },
		interpret: onlyOK(func(a answer) (kind, err error, ok bool) {
			wire, err := decodeRenewals(a, len(list))
			if err != nil {
				return nil, nil, false
			}
			out = make([]LeaseRenewal, len(list))
			for i, g := range list {
				out[i] = g.renewed(&wire[i], c.now()-asked)
			}
			return nil, nil, true
		}),
	}
	_, err := c.s.write(ctx, "renew leases", "", r, Once{})
	return out, err
}

// Release releases a lease. g.Name, Owner and Grant count; any grant of the acquisition will do. It is no error if the
// lease is not held.
func (c *Leases) Release(ctx context.Context, g LeaseGrant) error {
	if err := g.check(); err != nil {
		return &Error{Op: "release lease", Key: g.Name, Kind: ErrInvalid, Err: err}
	}
	return releaseLease(ctx, c.s, g.Name, api.LeaseRequest{Owner: g.Owner, Grant: g.Grant})
}

// ReleaseAcquisition releases a lease by the LeaseOptions.Acquisition that Grant was given, also if Grant has failed.
// The acquisition must never be used again.
func (c *Leases) ReleaseAcquisition(ctx context.Context, name, owner, acquisition string) error {
	err := checkLease(name, owner)
	if err == nil && acquisition == "" {
		err = errors.New("there is no acquisition")
	}
	if err != nil {
		return &Error{Op: "release lease", Key: name, Kind: ErrInvalid, Err: err}
	}
	return releaseLease(ctx, c.s, name, api.LeaseRequest{Owner: owner, Acquisition: acquisition})
}

// releaseLease releases by grant or by acquisition. It may be repeated and be late, because an acquisition is never
// used again.
func releaseLease(ctx context.Context, s *sender, name string, body api.LeaseRequest) error {
	r := request{
		method: http.MethodPost, path: leasePath(name, api.LeaseRelease), body: encode(body), idempotent: true,
	}
	_, err := s.write(ctx, "release lease", name, r, Once{})
	return err
}

// Info returns what a node knows of a lease. The error is ErrNotFound if it knows no owner.
func (c *Leases) Info(ctx context.Context, name string) (LeaseInfo, error) {
	const op = "show lease"
	if err := checkLease(name, ""); err != nil {
		return LeaseInfo{}, &Error{Op: op, Key: name, Kind: ErrInvalid, Err: err}
	}
	remaining := time.Duration(0)
	w, _, err := readOne(ctx, c.s, op, name, request{path: leasePath(name, ""), unmarked: true}, ReadOptions{},
		func(w *api.LeaseHint) bool {
			var err error
			remaining, err = time.ParseDuration(w.Remaining)
			return err == nil && w.Name == name
		})
	return LeaseInfo{Name: w.Name, Owner: w.Owner, Token: w.Token, Remaining: remaining}, err
}

// check returns an error for a grant that every node would refuse.
func (g LeaseGrant) check() error {
	if g.Grant == "" {
		return errors.New("there is no grant: it comes with the answer to acquire or renew")
	}
	if g.TTL < 0 {
		return errors.New("the TTL is negative")
	}
	return checkLease(g.Name, g.Owner)
}

// request returns the body of a renewal, with its name if it is one of many.
func (g LeaseGrant) request(withName bool) api.LeaseRequest {
	r := api.LeaseRequest{Owner: g.Owner, Grant: g.Grant}
	if g.TTL != 0 {
		r.TTL = g.TTL.String()
	}
	if withName {
		r.Name = g.Name
	}
	return r
}

// usable returns how much is used of a TTL that was asked for with g and granted as ttl.
func (g LeaseGrant) usable(ttl time.Duration) time.Duration {
	if g.TTL > 0 {
		ttl = min(ttl, g.TTL)
	}
	return usableTTL(ttl)
}

// renewed returns the result of a renewal of g that took so long and was answered with w.
func (g LeaseGrant) renewed(w *api.LeaseRenewal, took time.Duration) LeaseRenewal {
	next, ok := grantOf(w, g.Name)
	if w.Code == "" && w.Error == "" && !w.Lost && ok {
		next.Left = g.usable(next.TTL) - took
		return LeaseRenewal{LeaseGrant: next}
	}
	kind := ErrUnknown
	if hasEnded(w) {
		kind = ErrLost
	}
	return LeaseRenewal{Err: &Error{Op: "renew lease", Key: g.Name, Kind: kind, Err: renewalError(w)}}
}
