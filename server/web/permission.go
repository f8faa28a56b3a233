package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"tenure/api"
	"tenure/internal/certs"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/acl"
)

// permit is the decision about a request so far. It asks the decider for more. Every handler decides before it touches
// the store or answers: see mustBeDecided.
type permit struct {
	decider *access.Decider // nil: there are no tokens, so that everything is allowed
	begun   *access.Request // nil before anybody has asked who it is
	request *access.Request // the same; nil before the first question
	decided bool            // something was found allowed, or the route needs no permission

	r        *http.Request // the request
	timeouts timeouts      // of the questions to the master
}

// needsNothing decides that the request needs no permission: its answer is for everybody.
func (p *permit) needsNothing() { p.decided = true }

// mustBeDecided panics unless something was decided about the request: a handler that forgot to would answer anybody.
func (p *permit) mustBeDecided() {
	if !p.decided {
		panic("web: " + p.r.Method + " " + p.r.URL.Path + " is answered without a decision whether it is allowed")
	}
}

// need returns nil if the request is allowed perm, else the error to answer with.
func (p *permit) need(perm acl.Permission) error { return p.decide((*access.Request).Need, perm) }

// needSome is need for any one name that begins with that of perm.
func (p *permit) needSome(perm acl.Permission) error {
	return p.decide((*access.Request).NeedSome, perm)
}

// needNow is need for a change that is no command of the log: this node first asks the master whether permissions have
// changed.
func (p *permit) needNow(perm acl.Permission) error { return p.decide((*access.Request).NeedNow, perm) }

func (p *permit) decide(how func(*access.Request, acl.Permission, time.Duration) error, perm acl.Permission) error {
	if p.decider != nil {
		r, err := p.asked()
		if err == nil {
			err = how(r, perm, p.timeouts.of(p.r))
		}
		if err != nil {
			return err
		}
	}
	p.decided = true
	return nil
}

// needKnown returns nil if the request has no token, or an existing one.
func (p *permit) needKnown() error {
	return p.decide(func(r *access.Request, _ acl.Permission, d time.Duration) error { return r.Known(d) },
		acl.Permission{})
}

// asked returns the decider's view of the request, and marks it as asked.
func (p *permit) asked() (_ *access.Request, err error) {
	if p.request == nil {
		p.request, err = p.asker()
	}
	return p.request, err
}

// asker returns the decider's view of the request, without a need. The decider must not be nil.
func (p *permit) asker() (*access.Request, error) {
	if p.begun == nil {
		who, err := credentialsOf(p.r)
		if err != nil {
			return nil, err
		}
		p.begun = p.decider.Begin(who)
	}
	return p.begun, nil
}

// may reports whether the request is allowed perm too. Something must have been decided before.
func (p *permit) may(perm acl.Permission) bool {
	if p.request == nil {
		return p.decider == nil
	}
	return p.request.May(perm)
}

// missing returns the error that the request lacks perm.
func (p *permit) missing(perm acl.Permission) error { return p.request.Missing(perm) }

// refresh asks the master whether permissions have changed, and decides again.
func (p *permit) refresh() error {
	if p.request == nil {
		return nil
	}
	return p.request.Refresh(p.timeouts.of(p.r))
}

// again decides by this node's present state. Call it after a read of the store, since the data may be newer than the
// decision, and whenever a stream has news.
func (p *permit) again() error {
	if p.request == nil {
		return nil
	}
	return p.request.Again()
}

// decidedAt returns the revision of the permissions by which the request was allowed, 0 without tokens or
// needs.
func (p *permit) decidedAt() uint64 {
	if p.request == nil {
		return 0
	}
	return p.request.Revision()
}

// mayWrite decides about a command as the log will have it. Only it decides about commands: it reads the needs from the
// decoded fields, not from the request. It panics if the command has no needs and nothing was decided before.
func (x *exchange) mayWrite(c *kv.Command) error {
	x.trail.aboutCommand(c)
	if c.Op == kv.OpBootstrap {
		x.permit.needsNothing() // the state allows it once
	}
	err := access.EachNeed(c, func(p acl.Permission, some bool) error {
		if some {
			return x.permit.needSome(p)
		}
		return x.permit.need(p)
	})
	if err == nil {
		x.permit.mustBeDecided()
	}
	return err
}

// whileAllowed returns a context that ends with ctx, or when the needs of the request are no longer all allowed. done
// ends the context, and returns why the request is not allowed. Until then no other decision about it may be made.
func (p *permit) whileAllowed(ctx context.Context) (_ context.Context, done func() error) {
	if p.request == nil {
		return ctx, func() error { return nil }
	}
	return p.request.While(ctx)
}

// news is closed when permissions have changed since the request was allowed. Nil: never.
func (p *permit) news() <-chan struct{} {
	if p.request == nil {
		return nil
	}
	return p.request.News()
}

// expires returns a channel that receives when the token of the request expires; nil: never. The caller calls stop
// when it no longer listens.
func (p *permit) expires() (_ <-chan time.Time, stop func()) {
	if p.request != nil {
		if at, ok := p.request.Expires(); ok {
			t := time.NewTimer(time.Until(at))
			return t.C, func() { t.Stop() }
		}
	}
	return nil, func() {}
}

// who returns the accessor of the token of the request, and whose its certificate is.
func (p *permit) who() (accessor, certificate string) {
	var proven access.Credentials
	proven.Certificate = certs.Proven(p.r.TLS)
	certificate = proven.CertificateName()
	if p.decider == nil {
		return "", certificate
	}
	if r, err := p.asked(); err == nil {
		accessor = r.Accessor()
	}
	return accessor, certificate
}

// deniedCode returns the code for a denial, "" if err is another error.
func deniedCode(err error) api.Code {
	var denied *access.DeniedError
	switch {
	case errors.As(err, &denied):
		return api.CodeDenied
	case errors.Is(err, access.ErrUnknownToken):
		return api.CodeUnknownToken
	}
	return ""
}
