package web

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gorilla/mux"

	"tenure/api"
)

const (
	maxLeaseName   = 256 // bytes
	maxLeaseOwner  = 128
	maxLeaseBody   = 4 << 10
	minLeaseTTL    = 100 * time.Millisecond
	maxLeaseWait   = 10 * time.Minute
	maxRenewals    = 1024 // in one call
	maxRenewalBody = maxRenewals * 1 << 10
)

// takes refuses members of b that the request of this name does not have, whatever they would have meant.
func takes(b *api.LeaseRequest, what string, members ...string) error {
	for _, m := range [...]struct{ name, value string }{
		{"Name", b.Name}, {"TTL", b.TTL}, {"Acquisition", b.Acquisition}, {"Wait", b.Wait}, {"Grant", b.Grant},
	} {
		if m.value != "" && !slices.Contains(members, m.name) {
			return badRequest("%s takes no %s, only Owner, %s: nothing was changed", what, m.name, strings.Join(members, ", "))
		}
	}
	return nil
}

// routeLeases adds the endpoints of single leases. A name may end like a verb: GET shows it all the same.
func (s *Server) routeLeases(m *mux.Router) {
	show := s.handle(s.listed(api.PathLease+"{name}", "lease-show", map[string]handler{"GET": (*Server).leaseShow}))
	m.PathPrefix(api.PathLease).Methods(http.MethodGet, http.MethodHead).Handler(show)
	post := func(verb, name string, h handler) {
		e := s.listed(api.PathLease+"{name}"+verb, name, map[string]handler{"POST": h})
		m.Path(api.PathLease + "{name:(?s:.*)}" + verb).Handler(s.handle(e))
	}
	post(api.LeaseAcquire, "lease-acquire", (*Server).leaseAcquire)
	post(api.LeaseRenew, "lease-renew", (*Server).leaseRenew)
	post(api.LeaseRelease, "lease-release", (*Server).leaseRelease)
	m.PathPrefix(api.PathLease).Handler(show) // its 405; see misspeltVerb
}

// misspeltVerb asks for the verb that a POST to a lease probably meant, if its path ends in something like one.
func misspeltVerb(method, path string) string {
	i := strings.LastIndexByte(path, '/')
	if method != http.MethodPost || !strings.HasPrefix(path, api.PathLease) || i < len(api.PathLease) {
		return ""
	}
	return meant(path[i:], []string{api.LeaseAcquire, api.LeaseRenew, api.LeaseRelease}, "")
}

func (s *Server) leaseAcquire(x *exchange) {
	r, body, err := s.leaseRequest(x, LeaseAcquire, api.LeaseAcquire)
	if err == nil {
		err = takes(&body, "acquire", "TTL", "Acquisition", "Wait")
	}
	if err == nil {
		r.TTL, err = s.leaseTTL(body.TTL, 0)
	}
	if err == nil {
		r.Wait, err = leaseWait(body.Wait)
	}
	if err != nil {
		x.fail(err, false)
		return
	}
	if body.Acquisition == "" {
		body.Acquisition = rand.Text() // nobody can retry under it: it is of this request alone
	}
	r.Acquisition = acquisitionOf(r.Owner, body.Acquisition)
	s.granted(x, &r)
}

func (s *Server) leaseRenew(x *exchange) {
	r, body, err := s.leaseRequest(x, LeaseRenew, api.LeaseRenew)
	if err == nil {
		err = takes(&body, "renew", "Grant", "TTL")
	}
	if err == nil {
		err = s.byGrant(&r, &body)
	}
	if err != nil {
		x.fail(err, false)
		return
	}
	s.granted(x, &r)
}

// leaseRelease ends an acquisition for good; true also if it owns nothing.
func (s *Server) leaseRelease(x *exchange) {
	r, body, err := s.leaseRequest(x, LeaseRelease, api.LeaseRelease)
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
		x.fail(err, false)
		return
	}
	if _, err := s.backend.Lease(context.Background(), r); err != nil {
		s.notGranted(x, err)
		return
	}
	x.json(bodyTrue)
}

func (s *Server) leaseShow(x *exchange) {
	name := x.rest(api.PathLease)
	_, err := parseQuery(x.r.URL.RawQuery, &plainRules)
	if err == nil {
		err = checkLeaseName(name)
	}
	if err != nil {
		x.fail(err, false)
		return
	}
	l, found := s.backend.ShowLease(name)
	if !found {
		x.refuse(http.StatusNotFound, api.CodeNotFound,
			"this node knows of no lease of that name: another may, for a moment")
		return
	}
	x.json(marshal(api.LeaseHint{
		Name: name, Owner: l.Owner, Token: l.Token, Remaining: durationText(l.Left), Hint: true}))
}

// leaseRequest reads what the three operations have in common.
func (s *Server) leaseRequest(x *exchange, op LeaseOp, verb string) (r LeaseRequest, body api.LeaseRequest, err error) {
	r = LeaseRequest{Op: op, Name: strings.TrimSuffix(x.rest(api.PathLease), verb), Patience: s.patience(x.r)}
	if _, err = parseQuery(x.r.URL.RawQuery, &plainWriteRules); err != nil {
		return r, body, err
	}
	if err = checkLeaseName(r.Name); err != nil {
		return r, body, err
	}
	if err = s.readJSON(x, maxLeaseBody, &body); err != nil {
		return r, body, err
	}
	r.Owner = body.Owner
	return r, body, checkLeaseOwner(body.Owner, body.Acquisition)
}

// byGrant fills in what a renewal takes from its grant.
func (s *Server) byGrant(r *LeaseRequest, body *api.LeaseRequest) error {
	g, err := readGrant(body.Grant, r.Name, r.Owner)
	if err != nil {
		return err
	}
	r.Acquisition = g.acquisition
	r.TTL, err = s.leaseTTL(body.TTL, g.ttl)
	return err
}

func checkLeaseName(name string) error {
	if name == "" || len(name) > maxLeaseName || !utf8.ValidString(name) {
		return badRequest("a lease's name has 1 to %d bytes of UTF-8, this one has %d", maxLeaseName, len(name))
	}
	return nil
}

func checkLeaseOwner(owner, acquisition string) error {
	for _, t := range [...]struct{ member, text string }{{"Owner", owner}, {"Acquisition", acquisition}} {
		if len(t.text) > maxLeaseOwner || !utf8.ValidString(t.text) {
			return badRequest("%s has at most %d bytes of UTF-8, this one has %d", t.member, maxLeaseOwner, len(t.text))
		}
	}
	if owner == "" {
		return badRequest("Owner is missing: say in a few words who owns, for people")
	}
	return nil
}

// leaseTTL is the time that a lease shall last; without a text it is def, and that must not be 0.
func (s *Server) leaseTTL(text string, def time.Duration) (time.Duration, error) {
	ttl := def
	if text != "" {
		var err error
		if ttl, err = time.ParseDuration(text); err != nil {
			return 0, badRequest("TTL %.40q is not a duration: write it like 30s or 1500ms", text)
		}
	}
	ttl = ttl.Truncate(time.Millisecond)
	if ttl < minLeaseTTL || ttl > s.cfg.MaxLeaseTime {
		return 0, badRequest("TTL %q: must be from %v to %v, the --max-lease-time of this cluster", text, minLeaseTTL, s.cfg.MaxLeaseTime)
	}
	return ttl, nil
}

func leaseWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 || wait > maxLeaseWait {
		return 0, badRequest("Wait %.40q: must be a duration like 10s, at most %v", text, maxLeaseWait)
	}
	return wait, nil
}

// answerOf is what a grant looks like to a client.
func answerOf(r *LeaseRequest, g *LeaseGrant) api.LeaseGrant {
	out := grant{acquisition: r.Acquisition, ttl: r.TTL, token: g.Token, serial: g.Serial}
	a := api.LeaseGrant{
		Name: r.Name, Owner: r.Owner, Token: g.Token, Grant: out.text(r.Name, r.Owner), TTL: r.TTL.String()}
	if g.Waited > 0 {
		a.Waited = g.Waited.String()
	}
	return a
}

// granted asks for r and answers. Only a request that waits ends when its client hangs up.
func (s *Server) granted(x *exchange, r *LeaseRequest) {
	ctx := context.Background()
	if r.Wait > 0 {
		ctx = x.r.Context()
		s.metrics.waiting.Add(1)
		began := time.Now()
		_ = http.NewResponseController(x.w).SetWriteDeadline(began.Add(r.Wait + s.cfg.ResponseTimeout))
		defer func() {
			s.metrics.waiting.Add(-1)
			x.waited = time.Since(began)
		}()
	}
	g, err := s.backend.Lease(ctx, *r)
	if err != nil {
		s.notGranted(x, err)
		return
	}
	x.json(marshal(answerOf(r, &g)))
}

// notGranted answers with why.
func (s *Server) notGranted(x *exchange, err error) {
	var busy *LeaseBusyError
	if !errors.As(err, &busy) {
		x.fail(err, true)
		return
	}
	h := x.w.Header()
	h["Content-Type"] = jsonType
	h[api.HeaderRetryAfter] = wholeSeconds(busy.RetryAfter)
	x.fails(http.StatusConflict, api.CodeBusy)
	_, _ = x.w.Write(marshal(api.LeaseBusy{Owner: busy.Owner, RetryAfter: durationText(busy.RetryAfter)}))
}

// durationText is d in whole milliseconds, rounded up.
func durationText(d time.Duration) string { return roundedUp(d).String() }

func roundedUp(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}
