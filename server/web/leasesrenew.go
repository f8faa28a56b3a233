package web

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"tenure/api"
)

// renewalsAtOnce bounds what one call has under way, so that a few of them do not crowd out everybody else.
const renewalsAtOnce = 128

// renewMany renews many leases in one call. Each succeeds or fails by itself; the entries of the answer are in the
// order of the request's.
func (h *leaseHandler) renewMany(x *exchange) error {
	_, err := parseQuery(x.r.URL.RawQuery, &plainWriteRules)
	var in []api.LeaseRequest
	if err == nil {
		err = h.bodies.readJSON(x, api.MaxLeaseRenewalBytes, &in)
	}
	if err == nil && (len(in) == 0 || len(in) > api.MaxLeaseRenewals) {
		err = badRequest("%d leases to renew: give 1 to %d in a call", len(in), api.MaxLeaseRenewals)
	}
	for i := range in {
		if err == nil {
			err = takes(&in[i], "a renewal", "Name", "Grant", "TTL")
		}
	}
	if err != nil {
		return err
	}
	timeout, out := h.timeouts.of(x.r), make([]api.LeaseRenewal, len(in))
	var all errgroup.Group
	all.SetLimit(renewalsAtOnce)
	for i := range in {
		all.Go(func() error {
			out[i] = h.renewOne(&in[i], timeout)
			return nil
		})
	}
	_ = all.Wait() // each error is in its entry
	x.marshalled(out)
	return nil
}

func (h *leaseHandler) renewOne(body *api.LeaseRequest, timeout time.Duration) api.LeaseRenewal {
	r := LeaseCommand{Op: LeaseRenew, Name: body.Name, Owner: body.Owner, Timeout: timeout}
	err := checkLeaseName(r.Name)
	if err == nil {
		err = checkLeaseOwner(r.Owner, "")
	}
	if err == nil {
		err = h.fromGrant(&r, body)
	}
	var g LeaseGrant
	if err == nil {
		g, err = h.leases.Lease(context.Background(), r)
	}
	if err != nil {
		err = inDoubt(err)
		_, code := codeOf(err)
		return api.LeaseRenewal{Name: r.Name, Owner: r.Owner, Code: code, Error: err.Error(), Lost: code == api.CodeLost}
	}
	a := answerOf(&r, &g)
	return api.LeaseRenewal{Name: a.Name, Owner: a.Owner, Token: a.Token, Grant: a.Grant, TTL: a.TTL, Waited: a.Waited}
}
