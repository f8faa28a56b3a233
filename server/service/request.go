package service

import (
	"fmt"
	"time"

	"tenure/server/audit"
)

// Request is what one client asks of a node. Keys, sessions and leases are reached only through it: it asks first
// whether the client may, and after a read of keys once more, since what was read may be newer than the decision. The
// needs of a write are read off the command as the log will have it.
//
// Of HTTP there is one for each request, of Redis one for a connection. It is used by one goroutine at a time.
type Request struct {
	Permit
	Bounds Bounds
	Line   Line // in the audit log

	service *Service
}

// node returns the node of a request about which something was decided.
func (r *Request) node() Node { return *r.front.node.Load() }

// Begin makes r a request of the client at that end of a connection. With tokens it is allowed nothing before Identify.
func (s *Service) Begin(r *Request, at End) {
	*r = Request{service: s, Permit: Permit{front: s.front}, Bounds: boundsOf(s.cfg.Admission, at)}
	if s.HasTokens() {
		r.unidentified = errNotIdentified
	}
}

var errNotIdentified = fmt.Errorf("%w: nothing is known of the client yet", ErrNotApplied)

// Identify says whose request r is or, with unidentified, why that is not known. Each later question to the node takes
// at most timeout. With tokens, Identify computes a hash: where possible, call it once Bounds.Enter has let the request
// in.
func (r *Request) Identify(who Credentials, unidentified error, timeout time.Duration) {
	r.Permit = Permit{front: r.service.front, who: who, timeout: timeout, unidentified: unidentified}
	if decider := r.service.cfg.Access; decider != nil && unidentified == nil {
		r.tokens = decider.Begin(who)
	}
	r.Bounds.countFor(&r.Permit)
}

// Record adds a line to the audit log, if there is one: the request has come at began, and was to do act.
func (r *Request) Record(l *Line, act string, began time.Time) {
	log := r.service.cfg.Audit
	if log == nil {
		return
	}
	line := audit.Record{Time: began, From: r.Bounds.from, Accessor: r.Accessor(), Certificate: r.who.CertificateName(),
		Act: act}
	l.put(&line)
	log.Add(line)
}

// Recorded reports whether there is an audit log.
func (r *Request) Recorded() bool { return r.service.cfg.Audit != nil }
