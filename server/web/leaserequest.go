package web

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenure/api"
	"tenure/internal/days"
)

// maxLeaseBytes bounds the body of a command on one lease.
const maxLeaseBytes = 4 << 10

// request reads a command on one lease.
func (h *leaseHandler) request(x *exchange, verb string) (LeaseCommand, error) {
	r := LeaseCommand{Op: LeaseOp(slices.Index(leaseVerbs, verb) + 1),
		Name: strings.TrimSuffix(x.behind(api.PathLease), verb), Timeout: x.timeout()}
	var body api.LeaseRequest
	_, err := parseQuery(x.r.URL.RawQuery, &plainWriteRules)
	if err == nil {
		err = checkLeaseName(r.Name)
	}
	if err == nil {
		err = h.bodies.readJSON(x, maxLeaseBytes, &body)
	}
	if err == nil {
		r.Owner = body.Owner
		err = checkLeaseOwner(body.Owner, body.Acquisition)
	}
	if err == nil && r.Op == LeaseAcquire && body.Acquisition == "" {
		err = x.drawn("Acquisition")
	}
	if err == nil {
		err = r.complete(&body, h.maxTTL)
	}
	return r, err
}

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

func checkLeaseName(name string) error {
	if name == "" || len(name) > api.MaxLeaseNameBytes || !utf8.ValidString(name) {
		return badRequest("a lease's name has 1 to %d bytes of UTF-8, this one has %d", api.MaxLeaseNameBytes, len(name))
	}
	return nil
}

func checkLeaseOwner(owner, acquisition string) error {
	for _, t := range [...]struct{ member, text string }{{"Owner", owner}, {"Acquisition", acquisition}} {
		if len(t.text) > api.MaxLeaseOwnerBytes || !utf8.ValidString(t.text) {
			return badRequest("%s has at most %d bytes of UTF-8, this one has %d", t.member, api.MaxLeaseOwnerBytes, len(t.text))
		}
	}
	if owner == "" {
		return badRequest("Owner is missing: say in a few words who owns, for people")
	}
	return nil
}

// leaseTTL returns the time that a lease shall last, at most longest; without a text it is def, and that must not be 0.
func leaseTTL(text string, def, longest time.Duration) (time.Duration, error) {
	ttl := def
	if text != "" {
		var err error
		if ttl, err = days.ParseSigned(text); err != nil {
			return 0, badRequest("TTL %.40q is not a duration: write it with its unit, like 30s or 1500ms", text)
		}
	}
	ttl = ttl.Truncate(time.Millisecond)
	if ttl < api.MinLeaseTTL || ttl > longest {
		return 0, badRequest("TTL %q: must be from %v to %v, the --max-lease-time of this cluster",
			text, api.MinLeaseTTL, longest)
	}
	return ttl, nil
}

func leaseWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := days.ParseSigned(text)
	if err != nil || wait < 0 || wait > api.MaxLeaseWait {
		return 0, badRequest("Wait %.40q: must be a duration like 10s, at most %v", text, api.MaxLeaseWait)
	}
	return wait, nil
}
