package service

import (
	"context"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/acl"
	"tenure/server/admission"
)

// Request is what one client asks of a node. Keys, sessions and leases are reached only through it: it asks first
// whether the client may, and after a read once more, since what was read may be newer than the decision. The needs of a
// write are read off the command as the log will have it.
//
// A Request is used by one goroutine at a time.
type Request struct {
	node    Node
	timeout time.Duration   // of each question to the node, and for it to find out whether something is allowed
	tokens  *access.Request // who asks; nil without tokens, when everything is allowed
	nobody  error           // why nobody can say who asks
	asked   bool            // tokens has decided something
	decided bool            // something was found allowed, or nothing is needed
}

// NewRequest returns a request to n of a client with the credentials who. Without tokens decider is nil. If the
// credentials cannot be read, nobody says why.
func NewRequest(n Node, decider *access.Decider, who access.Credentials, nobody error, timeout time.Duration) Request {
	r := Request{node: n, timeout: timeout, nobody: nobody}
	if decider != nil && nobody == nil {
		r.tokens = decider.Begin(who)
	}
	return r
}

// Next makes r the next request of the same client, about which nothing was decided.
func (r *Request) Next() {
	if r.decided = false; r.tokens != nil {
		r.tokens.Next()
	}
}

// Decides reports whether there are tokens, so that not everything is allowed.
func (r *Request) Decides() bool { return r.tokens != nil || r.nobody != nil }

// NeedsNothing decides that the request needs no permission: its answer is for everybody.
func (r *Request) NeedsNothing() { r.decided = true }

// MustBeDecided panics unless something was decided about the request: whoever forgot to would answer anybody.
func (r *Request) MustBeDecided() {
	if !r.decided {
		panic("service: a request is carried out or answered without a decision whether it is allowed")
	}
}

// Need returns nil if the request is allowed p, else the error to answer with.
func (r *Request) Need(p acl.Permission) error { return r.decide((*access.Request).Need, p) }

// NeedSome is Need for any one name that begins with that of p.
func (r *Request) NeedSome(p acl.Permission) error { return r.decide((*access.Request).NeedSome, p) }

// NeedNow is Need for a change that is no command of the log: this node first asks the master whether permissions have
// changed.
func (r *Request) NeedNow(p acl.Permission) error { return r.decide((*access.Request).NeedNow, p) }

// NeedKnown returns nil if the request has no token, or an existing one.
func (r *Request) NeedKnown() error {
	return r.decide(func(t *access.Request, _ acl.Permission, d time.Duration) error { return t.Known(d) }, acl.Permission{})
}

func (r *Request) decide(how func(*access.Request, acl.Permission, time.Duration) error, p acl.Permission) error {
	if r.nobody != nil {
		return r.nobody
	}
	if r.tokens != nil {
		r.asked = true
		if err := how(r.tokens, p, r.timeout); err != nil {
			return err
		}
	}
	r.decided = true
	return nil
}

// May reports whether the request is allowed p too. Something must have been decided before.
func (r *Request) May(p acl.Permission) bool {
	if !r.asked {
		return !r.Decides()
	}
	return r.tokens.May(p)
}

// Missing returns the error that the request lacks p. Something must have been decided before.
func (r *Request) Missing(p acl.Permission) error { return r.tokens.Missing(p) }

// Knows reports whether the request's token allows p, as far as this node knows. It does not wait, and its result may be
// outdated: use it only for hints such as a request's place. Without tokens nothing is known.
func (r *Request) Knows(p acl.Permission) bool { return r.tokens != nil && r.tokens.Knows(p) }

// Accessor returns the accessor of the client's token, "" if there is none that this node knows, or there are no tokens.
func (r *Request) Accessor() string {
	if r.tokens == nil {
		return ""
	}
	return r.tokens.Accessor()
}

// Client returns the client for whose waits and rate the request counts, if it comes from the address at: by its token,
// from any address, else by the address. Only a token that this node knows names a client: with free names a client would
// have any number of rates. The anonymous token names none, since all clients share it.
func (r *Request) Client(at admission.Client) admission.Client {
	if accessor := r.Accessor(); accessor != "" && accessor != api.AnonymousAccessor {
		return at.Holding(accessor)
	}
	return at
}

// Token returns the token by which the request was allowed. There must be tokens.
func (r *Request) Token() *kv.Token { return r.tokens.Token() }

// Derive returns a secret that follows from the client's own and from text; see access.Request.
func (r *Request) Derive(text string) (string, error) {
	if r.tokens == nil {
		return "", access.ErrNoSecret
	}
	return r.tokens.Derive(text)
}

// Refresh asks the master whether permissions have changed, and decides again.
func (r *Request) Refresh() error {
	if !r.asked {
		return nil
	}
	return r.tokens.Refresh(r.timeout)
}

// Again decides by this node's present state. Call it after a read that is none of the methods here, and whenever a
// stream has news.
func (r *Request) Again() error {
	if !r.asked {
		return nil
	}
	return r.tokens.Again()
}

// News is closed when permissions have changed since the request was allowed. Nil: never.
func (r *Request) News() <-chan struct{} {
	if !r.asked {
		return nil
	}
	return r.tokens.News()
}

// Expires returns a channel that receives when the token of the request expires; nil: never. The caller calls stop when
// it no longer listens.
func (r *Request) Expires() (_ <-chan time.Time, stop func()) {
	if r.asked {
		if at, ok := r.tokens.Expires(); ok {
			t := time.NewTimer(time.Until(at))
			return t.C, func() { t.Stop() }
		}
	}
	return nil, func() {}
}

// while returns a context that ends with ctx, or when the needs of the request are no longer all allowed. done ends the
// context, and returns why the request is not allowed. Until then no other decision about it may be made.
func (r *Request) while(ctx context.Context) (_ context.Context, done func() error) {
	if !r.asked {
		return ctx, func() error { return nil }
	}
	return r.tokens.While(ctx)
}
