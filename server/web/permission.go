package web

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/acl"
)

// permit is the decision about a request so far. Every handler decides before it touches the store or answers: see
// mustBeDecided.
type permit struct {
	decider *access.Decider // nil: there are no tokens, so that everything is allowed
	begun   *access.Request // nil before anybody has asked who it is
	request *access.Request // the same; nil before the first question
	decided bool            // something was found allowed, or the route needs no permission
}

// needsNothing decides that the request needs no permission: its answer is for everybody.
func (x *exchange) needsNothing() { x.permit.decided = true }

// mustBeDecided panics unless something was decided about x: a handler that forgot to would answer anybody.
func (x *exchange) mustBeDecided() {
	if !x.permit.decided {
		panic("web: " + x.r.Method + " " + x.r.URL.Path + " is answered without a decision whether it is allowed")
	}
}

// need returns nil if x is allowed p, else the error to answer with.
func (x *exchange) need(p acl.Permission) error { return x.decide((*access.Request).Need, p) }

// needSome is need for any one name that begins with that of p.
func (x *exchange) needSome(p acl.Permission) error { return x.decide((*access.Request).NeedSome, p) }

// needNow is need for a change that is no command of the log: this node first asks the master whether permissions have
// changed.
func (x *exchange) needNow(p acl.Permission) error { return x.decide((*access.Request).NeedNow, p) }

func (x *exchange) decide(how func(*access.Request, acl.Permission, time.Duration) error, p acl.Permission) error {
	if x.permit.decider != nil {
		r, err := x.asked()
		if err == nil {
			err = how(r, p, x.timeouts.of(x.r))
		}
		if err != nil {
			return err
		}
	}
	x.permit.decided = true
	return nil
}

// needKnown returns nil if the request has no token, or an existing one.
func (x *exchange) needKnown() error {
	return x.decide(func(r *access.Request, _ acl.Permission, d time.Duration) error { return r.Known(d) },
		acl.Permission{})
}

// asked returns the decider's view of x, and marks it as asked.
func (x *exchange) asked() (_ *access.Request, err error) {
	if x.permit.request == nil {
		x.permit.request, err = x.asker()
	}
	return x.permit.request, err
}

// asker returns the decider's view of x, without a need. The decider must not be nil.
func (x *exchange) asker() (*access.Request, error) {
	if x.permit.begun == nil {
		who, err := credentialsOf(x.r)
		if err != nil {
			return nil, err
		}
		x.permit.begun = x.permit.decider.Begin(who)
	}
	return x.permit.begun, nil
}

// may reports whether x is allowed p too. Something must have been decided before.
func (x *exchange) may(p acl.Permission) bool {
	if x.permit.request == nil {
		return x.permit.decider == nil
	}
	return x.permit.request.May(p)
}

// missing returns the error that x lacks p.
func (x *exchange) missing(p acl.Permission) error { return x.permit.request.Missing(p) }

// refresh asks the master whether permissions have changed, and decides again.
func (x *exchange) refresh() error {
	if x.permit.request == nil {
		return nil
	}
	return x.permit.request.Refresh(x.timeouts.of(x.r))
}

// again decides by this node's present state. Call it after a read of the store, since the data may be newer than the
// decision, and whenever a stream has news.
func (x *exchange) again() error {
	if x.permit.request == nil {
		return nil
	}
	return x.permit.request.Again()
}

// decidedAt returns the revision of the permissions by which x was allowed, 0 without tokens or needs.
func (x *exchange) decidedAt() uint64 {
	if x.permit.request == nil {
		return 0
	}
	return x.permit.request.Revision()
}

// mayWrite decides about a command as the log will have it. Only it decides about commands: it reads the needs from the
// decoded fields, not from the request. It panics if the command has no needs and nothing was decided before.
func (x *exchange) mayWrite(c *kv.Command) error {
	x.aboutCommand(c)
	if c.Op == kv.OpBootstrap {
		x.needsNothing() // the state allows it once
	}
	err := access.EachNeed(c, func(p acl.Permission, some bool) error {
		if some {
			return x.needSome(p)
		}
		return x.need(p)
	})
	if err == nil {
		x.mustBeDecided()
	}
	return err
}

// decideAgain decides once more about a command that the log has refused because its decision used permissions from
// before revision.
func (x *exchange) decideAgain(revision uint64) error {
	if x.permit.request == nil {
		return fmt.Errorf("%w: a command that nobody had to decide about was refused as decided long ago", ErrUnknown)
	}
	return x.permit.request.AgainAt(revision, x.timeouts.of(x.r))
}

// whileAllowed returns a context that ends with ctx, or when the needs of x are no longer all allowed. done ends the
// context, and returns why x is not allowed. Until then no other decision about x may be made.
func (x *exchange) whileAllowed(ctx context.Context) (_ context.Context, done func() error) {
	if x.permit.request == nil {
		return ctx, func() error { return nil }
	}
	return x.permit.request.While(ctx)
}

// news is closed when permissions have changed since x was allowed. Nil: never.
func (x *exchange) news() <-chan struct{} {
	if x.permit.request == nil {
		return nil
	}
	return x.permit.request.News()
}

// expires returns a channel that receives when the token of x expires; nil: never. The caller calls stop when it no
// longer listens.
func (x *exchange) expires() (_ <-chan time.Time, stop func()) {
	if x.permit.request != nil {
		if at, ok := x.permit.request.Expires(); ok {
			t := time.NewTimer(time.Until(at))
			return t.C, func() { t.Stop() }
		}
	}
	return nil, func() {}
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
