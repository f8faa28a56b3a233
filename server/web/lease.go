package web

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tenure/api"
)

// leaseHandler answers requests about named leases.
type leaseHandler struct {
	leases   Leases
	timeouts timeouts
	bodies   *bodies
	waiting  *atomic.Int64 // how many wait for a busy lease now, among others
	maxTTL   time.Duration
}

func (h *leaseHandler) acquire(x *exchange) error {
	r, body, err := h.request(x, LeaseAcquire, api.LeaseAcquire)
	if err == nil {
		err = takes(&body, "acquire", "TTL", "Acquisition", "Wait")
	}
	if err == nil {
		r.TTL, err = h.ttl(body.TTL, 0)
	}
	if err == nil {
		r.Wait, err = leaseWait(body.Wait)
	}
	if err != nil {
		return err
	}
	if body.Acquisition == "" {
		body.Acquisition = rand.Text() // nobody can retry under it: it is of this request alone
	}
	r.Acquisition = acquisitionOf(r.Owner, body.Acquisition)
	return h.grant(x, &r)
}

func (h *leaseHandler) renew(x *exchange) error {
	r, body, err := h.request(x, LeaseRenew, api.LeaseRenew)
	if err == nil {
		err = takes(&body, "renew", "Grant", "TTL")
	}
	if err == nil {
		err = h.fromGrant(&r, &body)
	}
	if err != nil {
		return err
	}
	return h.grant(x, &r)
}

// release ends an acquisition for good; true also if it owns nothing.
func (h *leaseHandler) release(x *exchange) error {
	r, body, err := h.request(x, LeaseRelease, api.LeaseRelease)
	if err == nil {
		err = takes(&body, "release", "Grant", "Acquisition")
	}
	if err == nil && body.Grant != "" && body.Acquisition != "" {
		err = badRequest("release takes Grant or Acquisition, not both: nothing was changed")
	}
	switch {
	case err != nil:
	case body.Grant == "" && body.Acquisition != "":
		r.Acquisition = acquisitionOf(r.Owner, body.Acquisition)
	default:
		var g grant
		g, err = readGrant(body.Grant, r.Name, r.Owner)
		r.Acquisition = g.acquisition
	}
	if err != nil {
		return err
	}
	if _, err := h.leases.Lease(context.Background(), r); err != nil {
		return x.notGranted(err)
	}
	x.json(bodyTrue)
	return nil
}

// grant asks for r and answers. Only a request that waits ends when its client hangs up.
func (h *leaseHandler) grant(x *exchange, r *LeaseCommand) error {
	ctx := context.Background()
	if r.Wait > 0 {
		ctx = x.r.Context()
		h.waiting.Add(1)
		began := time.Now()
		h.timeouts.extend(x, r.Wait)
		defer func() {
			h.waiting.Add(-1)
			x.waited = time.Since(began)
		}()
	}
	g, err := h.leases.Lease(ctx, *r)
	if err != nil {
		return x.notGranted(err)
	}
	x.marshalled(answerOf(r, &g))
	return nil
}

// answerOf returns what a grant looks like to a client.
func answerOf(r *LeaseCommand, g *LeaseGrant) api.LeaseGrant {
	out := grant{acquisition: r.Acquisition, ttl: r.TTL, token: g.Token, serial: g.Serial}
	a := api.LeaseGrant{
		Name: r.Name, Owner: r.Owner, Token: g.Token, Grant: out.text(r.Name, r.Owner), TTL: r.TTL.String()}
	if g.Waited > 0 {
		a.Waited = g.Waited.String()
	}
	return a
}

// notGranted answers that somebody else owns the lease, or returns err if it is another error.
func (x *exchange) notGranted(err error) error {
	var busy *LeaseBusyError
	if !errors.As(err, &busy) {
		return inDoubt(err)
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
		err = checkLeaseName(name)
	}
	if err != nil {
		return err
	}
	l, found := h.leases.ShowLease(name)
	if !found {
		return refuse(http.StatusNotFound, api.CodeNotFound,
			"this node knows of no lease of that name: another may, for a moment")
	}
	x.marshalled(api.LeaseHint{
		Name: name, Owner: l.Owner, Token: l.Token, Remaining: durationText(l.Left), Hint: true})
	return nil
}

// leaseVerbs end the paths of the commands on a lease.
var leaseVerbs = []string{api.LeaseAcquire, api.LeaseRenew, api.LeaseRelease}

// allowedAt returns the methods of a path whose resource has those in allow: a lease's path that ends like a command
// is also that of the command, which is a POST.
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
