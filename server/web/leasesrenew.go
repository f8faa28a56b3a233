package web

import (
	"tenure/api"
	"tenure/server/service"
)

var errTooManyRenewals = service.Invalid("more than %d leases to renew: give 1 to %d in a call", api.MaxLeaseRenewals,
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
		err = service.Invalid("0 leases to renew: give 1 to %d in a call", api.MaxLeaseRenewals)
	}
	if err == nil {
		err = service.CheckRenewals(in)
	}
	if err != nil {
		return err
	}
	renewals, errs := make([]service.LeaseCommand, len(in)), make([]error, len(in))
	for i := range in {
		body := in[i]
		body.Name = ""
		renewals[i], errs[i] = service.NewLeaseCommand(service.LeaseRenew, in[i].Name, body, h.maxTTL)
		renewals[i].Timeout = x.timeout()
	}
	grants, err := x.req.RenewLeases(renewals, errs)
	if err != nil {
		return err
	}
	out := make([]api.LeaseRenewal, len(in))
	for i := range in {
		if errs[i] != nil {
			out[i] = notRenewed(&in[i], errs[i])
			continue
		}
		a := renewals[i].Answer(&grants[i])
		out[i] = api.LeaseRenewal{Name: a.Name, Owner: a.Owner, Token: a.Token, Grant: a.Grant, TTL: a.TTL, Waited: a.Waited}
	}
	x.marshalled(out)
	return nil
}

func notRenewed(r *api.LeaseRequest, err error) api.LeaseRenewal {
	_, code := codeOf(err)
	return api.LeaseRenewal{Name: r.Name, Owner: r.Owner, Code: code, Error: err.Error(), Lost: code == api.CodeLost}
}
