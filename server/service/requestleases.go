package service

import (
	"context"

	"golang.org/x/sync/errgroup"

	"tenure/server/acl"
)

// Lease carries out c. One that waits has a place among the waits, and is no request in flight. It ends with ctx, or
// when it is no longer allowed. If it may have been granted by then, that is unknown, and not denied.
func (r *Request) Lease(ctx context.Context, c LeaseCommand) (LeaseGrant, error) {
	r.Line.About(c.Name)
	if err := r.need(acl.LeaseWrite(c.Name)); err != nil {
		return LeaseGrant{}, err
	}
	if c.Wait <= 0 {
		g, err := r.node().Lease(ctx, c)
		return g, InDoubt(err)
	}
	place, err := r.Bounds.TakePlace()
	if err != nil {
		return LeaseGrant{}, err
	}
	defer place.Give()
	r.Bounds.Leave()
	ctx, done := r.while(ctx)
	g, err := r.node().Lease(ctx, c)
	if denied := done(); err != nil && denied != nil && !IsUnknown(err) {
		err = denied
	}
	return g, InDoubt(err)
}

// renewalsAtOnce bounds what one call has under way, so that a few of them do not crowd out everybody else.
const renewalsAtOnce = 128

// RenewLeases renews leases, each by itself, and puts into errs why one was not renewed. What has an error there before
// is not tried. The error is that of a client that may renew none.
//
// Leases work without a master. So what the client may renew by this node's present state is renewed first; about the
// rest the node asks the master.
func (r *Request) RenewLeases(renewals []LeaseCommand, errs []error) ([]LeaseGrant, error) {
	var tried []int
	for i := range renewals {
		if r.Line.About(renewals[i].Name); errs[i] == nil {
			tried = append(tried, i)
		}
	}
	if err := r.needSome(acl.LeaseWrite("")); err != nil {
		return nil, err
	}
	grants := make([]LeaseGrant, len(renewals))
	if refused := r.renewAllowed(tried, renewals, grants, errs); len(refused) > 0 {
		err := r.Refresh()
		if err == nil {
			refused = r.renewAllowed(refused, renewals, grants, errs)
		}
		for _, i := range refused {
			if errs[i] = err; err == nil {
				errs[i] = r.missing(acl.LeaseWrite(renewals[i].Name))
			}
		}
	}
	r.Line.partsCameTo(errs)
	return grants, nil
}

// renewAllowed renews those of the leases at the places that the client may renew by the last decision, and returns the
// places of the others.
func (r *Request) renewAllowed(places []int, renewals []LeaseCommand, grants []LeaseGrant, errs []error,
) (refused []int) {
	var all errgroup.Group
	all.SetLimit(renewalsAtOnce)
	for _, i := range places {
		if !r.may(acl.LeaseWrite(renewals[i].Name)) {
			refused = append(refused, i)
			continue
		}
		all.Go(func() error {
			g, err := r.node().Lease(context.Background(), renewals[i])
			grants[i], errs[i] = g, InDoubt(err)
			return nil
		})
	}
	_ = all.Wait() // nil
	return refused
}

// ListLeases returns what this node alone knows of the leases that the client may read. hidden: there are others.
func (r *Request) ListLeases(ctx context.Context, q LeaseQuery) (list LeaseList, hidden bool, err error) {
	if err := r.needSome(acl.LeaseRead(q.Prefix)); err != nil {
		return list, false, err
	}
	q.Keep = func(name string) bool {
		readable := r.may(acl.LeaseRead(name))
		hidden = hidden || !readable
		return readable
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	list, err = r.node().ListLeases(ctx, q)
	return list, hidden, err
}

// ShowLease returns what this node alone knows of a lease, if the client may read it.
func (r *Request) ShowLease(name string) (l LeaseHint, found bool, err error) {
	if err := r.need(acl.LeaseRead(name)); err != nil {
		return l, false, err
	}
	l, found = r.node().ShowLease(name)
	return l, found, nil
}
