package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"tenure/api"
	"tenure/server/service"
)

// leaseHandler answers requests about named leases.
type leaseHandler struct {
	bodies *bodies
	waits  *waits // also of those who wait for a busy lease
	maxTTL time.Duration
}

// command returns the handler of the command that verb names. Only a request that waits ends when its client hangs up.
func (h *leaseHandler) command(verb string) handler {
	return func(x *exchange) error {
		r, err := h.request(x, verb)
		if err != nil {
			return err
		}
		ctx := context.Background()
		if r.Wait > 0 {
			ctx = x.r.Context()
			h.waits.waiting.Add(1)
			began := time.Now()
			x.extend(r.Wait)
			defer func() {
				h.waits.waiting.Add(-1)
				x.waited = time.Since(began)
			}()
		}
		g, err := x.req.Lease(ctx, r)
		switch {
		case err != nil:
			return x.notGranted(err)
		case r.Op == service.LeaseRelease:
			x.json(bodyTrue) // also if it owned nothing
		default:
			x.marshalled(r.Answer(&g))
		}
		return nil
	}
}

// notGranted answers that somebody else owns the lease, or returns err if it is another error.
func (x *exchange) notGranted(err error) error {
	var busy *service.LeaseBusyError
	if !errors.As(err, &busy) {
		return err
	}
	x.w.Header()[api.HeaderRetryAfter] = wholeSeconds(busy.RetryAfter)
	x.send(http.StatusConflict, api.CodeBusy, jsonType,
		marshal(api.LeaseBusy{Owner: busy.Owner, RetryAfter: durationText(busy.RetryAfter)}))
	return nil
}

// show answers with what this node alone knows of a lease.
func (h *leaseHandler) show(x *exchange) error {
	name := x.behind(api.PathLease)
	_, err := parseQuery(x.r.URL.RawQuery, &plainRules)
	if err == nil {
		err = service.ValidateLeaseName(name)
	}
	if err != nil {
		return err
	}
	l, found, err := x.req.ShowLease(name)
	if err != nil {
		return err
	}
	if !found {
		return service.Refuse(api.CodeNotFound, "this node knows of no lease of that name: another may, for a moment")
	}
	x.marshalled(api.LeaseHint{
		Name: name, Owner: l.Owner, Token: l.Token, Remaining: durationText(l.Left), Hint: true})
	return nil
}

// leaseVerbs end the paths of the commands on a lease, in the order of their LeaseOp.
var leaseVerbs = []string{api.LeaseAcquire, api.LeaseRenew, api.LeaseRelease}

// allowedAt returns the allowed methods of a path. These are the methods in allow, and POST if the path of a lease ends
// like a command.
func allowedAt(path, allow string) string {
	name, ok := strings.CutPrefix(path, api.PathLease)
	if ok && slices.ContainsFunc(leaseVerbs, func(verb string) bool { return strings.HasSuffix(name, verb) }) {
		return allow + ", " + http.MethodPost
	}
	return allow
}

// misspeltVerb asks for the verb that a POST to a lease probably meant, if its path ends in something like one.
func misspeltVerb(method, path string) string {
	i := strings.LastIndexByte(path, '/')
	if method != http.MethodPost || !strings.HasPrefix(path, api.PathLease) || i < len(api.PathLease) {
		return ""
	}
	return meant(path[i:], leaseVerbs, "")
}
