package service

import (
	"context"
	"slices"

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
	place, err := r.Bounds.Wait()
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
func (r *Request) RenewLeases(renewals []LeaseCommand, errs []error) ([]LeaseGrant, error) {
	for i := range renewals {
		r.Line.About(renewals[i].Name)
	}
	if err := r.mayRenew(renewals, errs); err != nil {
		return nil, err
	}
	grants := make([]LeaseGrant, len(renewals))
	var all errgroup.Group
	all.SetLimit(renewalsAtOnce)
	for i := range renewals {
		if errs[i] == nil {
			all.Go(func() error {
				g, err := r.node().Lease(context.Background(), renewals[i])
				grants[i], errs[i] = g, InDoubt(err)
				return nil
			})
		}
	}
	return grants, all.Wait() // nil
}

// mayRenew decides about each of the leases by itself, and puts into errs why one may not be renewed.
func (r *Request) mayRenew(renewals []LeaseCommand, errs []error) error {
	if err := r.needSome(acl.LeaseWrite("")); err != nil || !r.Decides() {
		return err
	}
	refused := func(c LeaseCommand) bool { return !r.may(acl.LeaseWrite(c.Name)) }
	if slices.ContainsFunc(renewals, refused) {
		if err := r.Refresh(); err != nil {
			return err
		}
	}
	for i := range renewals {
		if refused(renewals[i]) {
			errs[i] = r.missing(acl.LeaseWrite(renewals[i].Name))
			r.Line.Lacks(errs[i])
		}
	}
	return nil
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
