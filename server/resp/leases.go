package resp

import (
	"context"
	"fmt"
	"strings"

	"tenure/api"
	"tenure/server/resp/proto"
	"tenure/server/service"
)

// leaseForms are the forms of TENURE.LEASE, by what is done.
var leaseForms = map[string]string{
	"acquire": "ACQUIRE NAME OWNER TTL [ACQUISITION ID] [WAIT TIME]",
	"renew":   "RENEW NAME OWNER GRANT [TTL TIME]",
	"release": "RELEASE NAME OWNER GRANT, or RELEASE NAME OWNER ACQUISITION ID",
	"get":     "GET NAME",
}

// isRelease reports whether TENURE.LEASE has these arguments to end a lease.
func isRelease(args [][]byte) bool { return strings.EqualFold(string(args[1]), "release") }

// isLeaseGet reports whether TENURE.LEASE has these arguments to show a lease.
func isLeaseGet(args [][]byte) bool {
	return len(args) > 1 && strings.EqualFold(string(args[1]), "get")
}

// leaseCommand is TENURE.LEASE: named leases, as HTTP has them at /v1/lease.
func leaseCommand(c *conn, args [][]byte) {
	do, name := strings.ToLower(string(args[1])), string(args[2])
	form, known := leaseForms[do]
	switch {
	case !known:
		c.fail("ERR TENURE.LEASE takes ACQUIRE, RENEW, RELEASE or GET")
		return
	case do == "get" && len(args) == 3:
		c.showLease(name)
		return
	}
	op, body, ok := leaseRequest(do, args[3:])
	if !ok {
		c.fail("ERR the form is TENURE.LEASE " + form)
		return
	}
	r, err := service.NewLeaseCommand(op, name, body, c.cfg.MaxLeaseTime)
	if err != nil {
		c.fail(errorText(err))
		return
	}
	r.Timeout = c.cfg.ClientTimeout
	c.lease(do, r)
}

// leaseRequest reads the arguments behind the name of the lease.
func leaseRequest(do string, args [][]byte) (op service.LeaseOp, body api.LeaseRequest, ok bool) {
	if len(args) < 2 {
		return 0, body, false
	}
	body.Owner = string(args[0])
	options := args[2:]
	var takes map[string]*string
	switch do {
	case "acquire":
		op, body.TTL = service.LeaseAcquire, string(args[1])
		takes = map[string]*string{"acquisition": &body.Acquisition, "wait": &body.Wait}
	case "renew":
		op, body.Grant = service.LeaseRenew, string(args[1])
		takes = map[string]*string{"ttl": &body.TTL}
	case "release":
		op = service.LeaseRelease
		if takes = map[string]*string{"acquisition": &body.Acquisition}; len(args) == 3 {
			options = args[1:]
		} else {
			body.Grant = string(args[1])
		}
	default:
		return 0, body, false
	}
	for ; len(options) > 0; options = options[2:] {
		to := takes[strings.ToLower(string(options[0]))]
		if to == nil || *to != "" || len(options) == 1 {
			return 0, body, false
		}
		*to = string(options[1])
	}
	return op, body, true
}

// lease carries out r; do is what it is called in the audit log. Who waits for a busy lease waits also when its client
// is gone, for no longer than it has said.
func (c *conn) lease(do string, r service.LeaseCommand) {
	if r.Wait > 0 { // the replies before it, and changes, do not wait with it
		if !c.out.flush() {
			return
		}
		c.track.yield()
	}
	g, err := c.to.Lease(context.Background(), r)
	c.trail.lease(c.batch.name+"."+do, r.Name, err)
	if r.Wait > 0 {
		c.track.begin()
		c.arrived.begun = false // it was no request in flight meanwhile: what arrived with it has to be one again
	}
	switch {
	case err != nil:
		c.fail(errorText(err))
	case r.Op == service.LeaseRelease:
		c.batch.reply((*proto.Writer).OK)
	default:
		a := r.Answer(&g)
		c.batch.reply(func(w *proto.Writer) {
			describe(w, []string{"name", a.Name, "owner", a.Owner, "token", fmt.Sprint(a.Token), "grant", a.Grant, "ttl", a.TTL,
				"waited", a.Waited})
		})
	}
}

// showLease replies what this node alone knows of a lease: a hint; nothing if it knows of none.
func (c *conn) showLease(name string) {
	if err := service.ValidateLeaseName(name); err != nil {
		c.fail(errorText(err))
		return
	}
	l, found, err := c.to.ShowLease(name)
	if err != nil {
		c.fail(errorText(err))
		return
	}
	if !found {
		c.batch.reply((*proto.Writer).Null)
		return
	}
	c.batch.reply(func(w *proto.Writer) {
		describe(w, []string{"name", name, "owner", l.Owner, "token", fmt.Sprint(l.Token), "remaining", l.Left.String()})
	})
}
