package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"tenure/api"
)

// LeaseInfo is what one node knows of a lease: a hint, since the owner may have renewed or released it through others.
// Its Token is no fence for anybody: it may be the next owner's.
type LeaseInfo struct {
	Name      string
	Owner     string
	Token     uint64
	Remaining time.Duration
}

// LeaseRenewal is what became of one lease of RenewLeases: the next grant, or an Err of kind ErrLost, ErrNotApplied or
// ErrUnknown.
type LeaseRenewal struct {
	LeaseGrant
	Err error
}

// RenewLease starts a lease's time anew and returns the grant to use from now on. g.Name, Owner, Grant and TTL count; a
// TTL of 0 is the one that it had. ErrLost: the lease is gone, acquire it anew. After any other error the lease lasts
// as long as it did, or longer. A renewal may be repeated freely, through any node. See AcquireLease for a lease that
// is renewed by itself.
func (c *Client) RenewLease(ctx context.Context, g LeaseGrant) (LeaseGrant, error) {
	const op = "renew lease"
	if err := checkGrant(g); err != nil {
		return LeaseGrant{}, &Error{Op: op, Key: g.Name, Kind: ErrInvalid, Err: err}
	}
	now := c.elapsed()
	var asked time.Duration
	var next LeaseGrant
	r := request{
		method: http.MethodPost, path: leasePath(g.Name, api.LeaseRenew), harmless: true,
		understand: renewed(g.Name, &next),
		body:       encode(api.LeaseRequest{Owner: g.Owner, Grant: g.Grant, TTL: ttlText(g.TTL)}),
		silence:    min(c.cfg.AttemptTimeout, lifeOf(g.TTL)), leaves: func() { asked = now() },
	}
	if _, err := c.write(ctx, op, g.Name, r, WriteOptions{}); err != nil {
		return LeaseGrant{}, err
	}
	next.Left = asked + g.life(next.TTL) - now()
	return next, nil
}

// RenewLeases renews many leases, MaxLeaseRenewals with each request, and tells in the same order what became of them.
// The error is that of the first request that failed as a whole; then the leases from there on have it too.
func (c *Client) RenewLeases(ctx context.Context, list []LeaseGrant) ([]LeaseRenewal, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	out := make([]LeaseRenewal, 0, len(list))
	for _, g := range list {
		if err := checkGrant(g); err != nil {
			return nil, &Error{Op: "renew leases", Key: g.Name, Kind: ErrInvalid, Err: err}
		}
	}
	for len(out) < len(list) {
		done, err := c.renewPart(ctx, list[len(out):])
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

// renewPart renews as many leases from the front of the list as one request holds.
func (c *Client) renewPart(ctx context.Context, list []LeaseGrant) ([]LeaseRenewal, error) {
	var text renewalList
	for _, g := range list {
		if !text.add(api.LeaseRequest{Name: g.Name, Owner: g.Owner, Grant: g.Grant, TTL: ttlText(g.TTL)}) {
			break
		}
	}
	list = list[:text.n]
	now := c.elapsed()
	var asked time.Duration
	var out []LeaseRenewal
	r := request{
		method: http.MethodPost, path: api.PathLeasesRenew, body: text.json(), harmless: true,
		leaves: func() { asked = now() },
		understand: onlyOK(func(a answer) (kind, err error, ok bool) {
			wire, err := decodeGrants(a, len(list))
			if err != nil {
				return nil, nil, false
			}
			out = make([]LeaseRenewal, len(list))
			for i, g := range list {
				out[i] = g.became(&wire[i], asked-now())
			}
			return nil, nil, true
		}),
	}
	_, err := c.write(ctx, "renew leases", "", r, WriteOptions{})
	return out, err
}

// became is what a node's answer makes of the lease; ago is negative.
func (g LeaseGrant) became(w *api.LeaseRenewal, ago time.Duration) LeaseRenewal {
	next, ok := grantOf(w, g.Name)
	if w.Code == "" && w.Error == "" && !w.Lost && ok {
		next.Left = g.life(next.TTL) + ago
		return LeaseRenewal{LeaseGrant: next}
	}
	return LeaseRenewal{Err: &Error{Op: "renew lease", Key: g.Name, Kind: kindOfRenewal(w), Err: problemOf(w)}}
}

// life is how much is used of the TTL that was asked for with g and granted as ttl.
func (g LeaseGrant) life(ttl time.Duration) time.Duration {
	if g.TTL > 0 {
		ttl = min(ttl, g.TTL)
	}
	return lifeOf(ttl)
}

// ttlText is "" for none.
func ttlText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// kindOfRenewal is the sentinel for a lease of a list that was not renewed.
func kindOfRenewal(w *api.LeaseRenewal) error {
	if saysLost(w) {
		return ErrLost
	}
	return ErrUnknown
}

func problemOf(w *api.LeaseRenewal) error {
	if w.Error == "" && !w.Lost {
		return errNotUnderstood
	}
	return errors.New(oneLine([]byte(w.Error)))
}

// decodeGrants decodes what a renewal of n leases answers.
func decodeGrants(a answer, n int) ([]api.LeaseRenewal, error) {
	var wire []api.LeaseRenewal
	if json.Unmarshal(a.body, &wire) != nil || len(wire) != n {
		return nil, errNotUnderstood
	}
	return wire, nil
}

// ReleaseLease gives a lease free. g.Name, Owner and Grant count; any grant of the acquisition will do. That nothing
// was held is no error.
func (c *Client) ReleaseLease(ctx context.Context, g LeaseGrant) error {
	if err := checkGrant(g); err != nil {
		return &Error{Op: "release lease", Key: g.Name, Kind: ErrInvalid, Err: err}
	}
	return c.releaseLease(ctx, g.Name, api.LeaseRequest{Owner: g.Owner, Grant: g.Grant})
}

// ReleaseAcquisition gives a lease free by what GrantLease was told with LeaseOptions, also if it has answered nothing.
// The acquisition must never be used again.
func (c *Client) ReleaseAcquisition(ctx context.Context, name, owner, acquisition string) error {
	err := checkLease(name, owner)
	if err == nil && acquisition == "" {
		err = errors.New("there is no acquisition")
	}
	if err != nil {
		return &Error{Op: "release lease", Key: name, Kind: ErrInvalid, Err: err}
	}
	return c.releaseLease(ctx, name, api.LeaseRequest{Owner: owner, Acquisition: acquisition})
}

// releaseLease releases by grant or by acquisition. It may be repeated, and be late, for an acquisition is never used
// again.
func (c *Client) releaseLease(ctx context.Context, name string, body api.LeaseRequest) error {
	r := request{method: http.MethodPost, path: leasePath(name, api.LeaseRelease), body: encode(body), harmless: true}
	_, err := c.write(ctx, "release lease", name, r, WriteOptions{})
	return err
}

// ShowLease tells what a node knows of a lease; ErrNotFound if it knows of no owner.
func (c *Client) ShowLease(ctx context.Context, name string) (LeaseInfo, error) {
	const op = "show lease"
	if err := checkLease(name, ""); err != nil {
		return LeaseInfo{}, &Error{Op: op, Key: name, Kind: ErrInvalid, Err: err}
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	var info LeaseInfo
	r := request{method: http.MethodGet, path: leasePath(name, ""), bare: true}
	a, err := c.read(ctx, op, name, func() request { return r }, func(a answer) error {
		var w api.LeaseHint
		if a.absent() {
			return nil
		}
		d, bad := time.Duration(0), json.Unmarshal(a.body, &w)
		if bad == nil {
			d, bad = time.ParseDuration(w.Remaining)
		}
		if bad != nil || w.Name != name {
			return errNotUnderstood
		}
		info = LeaseInfo{Name: w.Name, Owner: w.Owner, Token: w.Token, Remaining: d}
		return nil
	})
	if err == nil && a.absent() {
		err = &Error{Op: op, Key: name, Kind: ErrNotFound}
	}
	return info, err
}

// checkGrant says early what any node would say.
func checkGrant(g LeaseGrant) error {
	if g.Grant == "" {
		return errors.New("there is no grant: it comes with the answer to acquire or renew")
	}
	if g.TTL < 0 {
		return errors.New("the TTL is negative")
	}
	return checkLease(g.Name, g.Owner)
}
