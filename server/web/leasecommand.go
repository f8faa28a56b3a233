package web

import (
	"crypto/rand"
	"time"

	"tenure/api"
)

// NewLeaseCommand makes a command on one lease for another protocol. body is the body of the same request over HTTP,
// with the Name set. An error is for the client; nothing was changed then.
func NewLeaseCommand(op LeaseOp, body api.LeaseRequest, maxTTL time.Duration) (LeaseCommand, error) {
	r := LeaseCommand{Op: op, Name: body.Name, Owner: body.Owner}
	body.Name = ""
	err := checkLeaseName(r.Name)
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
		return badRequest("release takes Grant or Acquisition, not both: nothing was changed")
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
