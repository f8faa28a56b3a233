package service

import (
	"crypto/rand"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tenure/api"
	"tenure/internal/days"
)

// NewLeaseCommand makes a command on the lease of that name, without a timeout. body is what the client has sent
// besides the name; a member that the command does not take is refused. An error is for the client; nothing was changed
// then.
func NewLeaseCommand(op LeaseOp, name string, body api.LeaseRequest, maxTTL time.Duration) (LeaseCommand, error) {
	r := LeaseCommand{Op: op, Name: name, Owner: body.Owner}
	err := ValidateLeaseName(r.Name)
	if err == nil {
		err = checkLeaseOwner(body.Owner, body.Acquisition)
	}
	if err == nil {
		err = r.complete(&body, maxTTL)
	}
	return r, err
}

// complete fills in the members of the body besides the owner.
func (r *LeaseCommand) complete(body *api.LeaseRequest, maxTTL time.Duration) error {
	switch r.Op {
	case LeaseAcquire:
		return r.acquires(body, maxTTL)
	case LeaseRenew:
		return r.renews(body, maxTTL)
	}
	return r.releases(body)
}

func (r *LeaseCommand) acquires(body *api.LeaseRequest, maxTTL time.Duration) error {
	err := takes(body, "acquire", "TTL", "Acquisition", "Wait")
	if err == nil {
		r.TTL, err = leaseTTL(body.TTL, 0, maxTTL)
	}
	if err == nil {
		r.Wait, err = leaseWait(body.Wait)
	}
	if body.Acquisition == "" {
		body.Acquisition = rand.Text() // nobody can retry under it: it is of this request alone
	}
	r.Acquisition = acquisitionOf(r.Owner, body.Acquisition)
	return err
}

func (r *LeaseCommand) renews(body *api.LeaseRequest, maxTTL time.Duration) error {
	if err := takes(body, "renew", "Grant", "TTL"); err != nil {
		return err
	}
	return r.fromGrant(body, maxTTL)
}

// fromGrant fills in what a renewal takes from its grant.
func (r *LeaseCommand) fromGrant(body *api.LeaseRequest, maxTTL time.Duration) error {
	g, err := readGrant(body.Grant, r.Name, r.Owner)
	if err != nil {
		return err
	}
	r.Acquisition = g.acquisition
	r.TTL, err = leaseTTL(body.TTL, g.ttl, maxTTL)
	return err
}

func (r *LeaseCommand) releases(body *api.LeaseRequest) error {
	if err := takes(body, "release", "Grant", "Acquisition"); err != nil {
		return err
	}
	if body.Grant != "" && body.Acquisition != "" {
		return Invalid("release takes Grant or Acquisition, not both: nothing was changed")
	}
	if body.Grant == "" && body.Acquisition != "" {
		r.Acquisition = acquisitionOf(r.Owner, body.Acquisition)
		return nil
	}
	g, err := readGrant(body.Grant, r.Name, r.Owner)
	r.Acquisition = g.acquisition
	return err
}

// Answer returns what a grant looks like to a client.
func (r *LeaseCommand) Answer(g *LeaseGrant) api.LeaseGrant {
	out := grant{acquisition: r.Acquisition, ttl: r.TTL, token: g.Token, serial: g.Serial}
	a := api.LeaseGrant{
		Name: r.Name, Owner: r.Owner, Token: g.Token, Grant: out.text(r.Name, r.Owner), TTL: r.TTL.String()}
	if g.Waited > 0 {
		a.Waited = g.Waited.String()
	}
	return a
}

// CheckRenewals refuses members of requests that a renewal of many leases does not have.
func CheckRenewals(in []api.LeaseRequest) error {
	for i := range in {
		if err := takes(&in[i], "a renewal", "Name", "Grant", "TTL"); err != nil {
			return err
		}
	}
	return nil
}

// takes refuses members of b that the request of this name does not have, whatever they would have meant.
func takes(b *api.LeaseRequest, what string, members ...string) error {
	for _, m := range [...]struct{ name, value string }{
		{"Name", b.Name}, {"TTL", b.TTL}, {"Acquisition", b.Acquisition}, {"Wait", b.Wait}, {"Grant", b.Grant},
	} {
		if m.value != "" && !slices.Contains(members, m.name) {
			return Invalid("%s takes no %s, only Owner, %s: nothing was changed", what, m.name, strings.Join(members, ", "))
		}
	}
	return nil
}

// ValidateLeaseName returns an error for the client if a lease cannot have that name.
func ValidateLeaseName(name string) error {
	if name == "" || len(name) > api.MaxLeaseNameBytes || !utf8.ValidString(name) {
		return Invalid("a lease's name has 1 to %d bytes of UTF-8, this one has %d", api.MaxLeaseNameBytes, len(name))
	}
	return nil
}

func checkLeaseOwner(owner, acquisition string) error {
	for _, t := range [...]struct{ member, text string }{{"Owner", owner}, {"Acquisition", acquisition}} {
		if len(t.text) > api.MaxLeaseOwnerBytes || !utf8.ValidString(t.text) {
			return Invalid("%s has at most %d bytes of UTF-8, this one has %d",
				t.member, api.MaxLeaseOwnerBytes, len(t.text))
		}
	}
	if owner == "" {
		return Invalid("Owner is missing: say in a few words who owns, for people")
	}
	return nil
}

// leaseTTL returns the time that a lease shall last, at most longest; without a text it is def, and that must not be 0.
func leaseTTL(text string, def, longest time.Duration) (time.Duration, error) {
	ttl := def
	if text != "" {
		var err error
		if ttl, err = days.ParseSigned(text); err != nil {
			return 0, Invalid("TTL %.40q is not a duration: write it with its unit, like 30s or 1500ms", text)
		}
	}
	ttl = ttl.Truncate(time.Millisecond)
	if ttl < api.MinLeaseTTL || ttl > longest {
		return 0, Invalid("TTL %q: must be from %v to %v, the --max-lease-time of this cluster",
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
		return 0, Invalid("Wait %.40q: must be a duration like 10s, at most %v", text, api.MaxLeaseWait)
	}
	return wait, nil
}
