package web

import (
	"slices"
	"strings"

	"tenure/api"
	"tenure/server/service"
)

// maxLeaseBytes bounds the body of a command on one lease.
const maxLeaseBytes = 4 << 10

// request reads a command on one lease.
func (h *leaseHandler) request(x *exchange, verb string) (service.LeaseCommand, error) {
	op, name := service.LeaseOp(slices.Index(leaseVerbs, verb)+1), strings.TrimSuffix(x.behind(api.PathLease), verb)
	var body api.LeaseRequest
	_, err := parseQuery(x.r.URL.RawQuery, &plainWriteRules)
	if err == nil {
		err = service.ValidateLeaseName(name)
	}
	if err == nil {
		err = h.bodies.readJSON(x, maxLeaseBytes, &body)
	}
	if err == nil && op == service.LeaseAcquire && body.Acquisition == "" {
		err = x.refuseKeyFor("Acquisition")
	}
	if err != nil {
		return service.LeaseCommand{}, err
	}
	r, err := service.NewLeaseCommand(op, name, body, h.maxTTL)
	r.Timeout = x.timeout()
	return r, err
}
