package web

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"tenure/api"
	"tenure/server/acl"
)

// renewalsAtOnce bounds what one call has under way, so that a few of them do not crowd out everybody else.
const renewalsAtOnce = 128

var errTooManyRenewals = badRequest("more than %d leases to renew: give 1 to %d in a call", api.MaxLeaseRenewals,
	api.MaxLeaseRenewals)

// renewMany renews many leases in one call. Each succeeds or fails by itself; the entries of the answer are in the
// order of the request's.
func (h *leaseHandler) renewMany(x *exchange) error {
	_, err := parseQuery(x.r.URL.RawQuery, &plainWriteRules)
	var in []api.LeaseRequest
	if err == nil {
		err = readJSONList(h.bodies, x, api.MaxLeaseRenewalBytes, api.MaxLeaseRenewals, errTooManyRenewals, &in)
	}
	if err == nil && len(in) == 0 {
		err = badRequest("0 leases to renew: give 1 to %d in a call", api.MaxLeaseRenewals)
	}
	for i := range in {
		if err == nil {
			err = takes(&in[i], "a renewal", "Name", "Grant", "TTL")
		}
	}
	if err != nil {
		return err
	}
	for i := range in {
		x.trail.about(in[i].Name)
	}
	denied, err := h.mayRenew(x, in)
	if err != nil {
		return err
	}
	timeout, out := x.timeout(), make([]api.LeaseRenewal, len(in))
	var all errgroup.Group
	all.SetLimit(renewalsAtOnce)
	for i := range in {
		if denied[i] != nil {
			x.trail.lacks(denied[i])
			out[i] = notRenewed(&in[i], denied[i])
			continue
		}
		all.Go(func() error {
			out[i] = h.renewOne(&in[i], timeout)
			return nil
		})
	}
	_ = all.Wait() // each error is in its entry
	x.marshalled(out)
	return nil
}

// mayRenew decides about each of the leases by itself, and returns why one may not be renewed, nil if it may. Its error is
// that of a request that may renew none.
func (h *leaseHandler) mayRenew(x *exchange, in []api.LeaseRequest) (denied []error, err error) {
	denied = make([]error, len(in))
	if err := x.permit.needSome(acl.LeaseWrite("")); err != nil {
		return nil, err
	}
	refused := func() (any bool) {
		for i := range in {
			if denied[i] = nil; !x.permit.may(acl.LeaseWrite(in[i].Name)) {
				any, denied[i] = true, x.permit.missing(acl.LeaseWrite(in[i].Name))
			}
		}
		return any
	}
	if refused() {
		if err := x.permit.refresh(); err != nil {
			return nil, err
		}
		refused()
	}
	return denied, nil
}

func notRenewed(r *api.LeaseRequest, err error) api.LeaseRenewal {
	_, code := codeOf(err)
	return api.LeaseRenewal{Name: r.Name, Owner: r.Owner, Code: code, Error: err.Error(), Lost: code == api.CodeLost}
}

func (h *leaseHandler) renewOne(body *api.LeaseRequest, timeout time.Duration) api.LeaseRenewal {
	r := LeaseCommand{Op: LeaseRenew, Name: body.Name, Owner: body.Owner, Timeout: timeout}
	err := checkLeaseName(r.Name)
	if err == nil {
		err = checkLeaseOwner(r.Owner, "")
	}
	if err == nil {
		err = r.fromGrant(body, h.maxTTL)
	}
	var g LeaseGrant
	if err == nil {
		g, err = h.leases.Lease(context.Background(), r)
	}
	if err != nil {
		return notRenewed(body, inDoubt(err))
	}
	a := r.Answer(&g)
	return api.LeaseRenewal{Name: a.Name, Owner: a.Owner, Token: a.Token, Grant: a.Grant, TTL: a.TTL, Waited: a.Waited}
}
