package service

import (
	"context"
	"time"

	"tenure/server/access"
	"tenure/server/acl"
)

// What protocols have of package access.
type (
	Credentials = access.Credentials // who a client says it is
	DeniedError = access.DeniedError // its token does not allow something
)

// The errors of a client whose token is none, of a node that cannot find out whether something is allowed, and of a
// client without a secret from which another one could follow.
var (
	ErrUnknownToken = access.ErrUnknownToken
	ErrUnsure       = access.ErrUnsure
	ErrNoSecret     = access.ErrNoSecret
)

// Permit is who asks, and what that client was found allowed. The zero Permit is that of a node without tokens, and
// allows everything. Any other allows nothing while the node serves no clients. A Permit is used by one goroutine at a
// time.
type Permit struct {
	front        *Front // nil: nothing is asked of a node
	who          Credentials
	timeout      time.Duration   // for the node to find out whether something is allowed
	tokens       *access.Request // who asks; nil without tokens, when everything is allowed
	unidentified error           // why it is not known who asks
	asked        bool            // tokens was asked to decide something, whatever it said
	decided      bool            // something was found allowed, or nothing is needed
}

// Next makes p the next request of the same client, about which nothing was decided.
func (p *Permit) Next() {
	if p.decided = false; p.tokens != nil {
		p.tokens.Next()
	}
}

// Decides reports whether there are tokens, so that not everything is allowed.
func (p *Permit) Decides() bool { return p.tokens != nil || p.unidentified != nil }

// NeedsNothing decides that the request needs no permission: its answer is for everybody, even from a node that serves
// no clients yet.
func (p *Permit) NeedsNothing() { p.decided = true }

// needServing returns nil if the node serves clients: the request needs no permission for what it asks of the node.
func (p *Permit) needServing() error {
	err := p.refusal()
	p.decided = p.decided || err == nil
	return err
}

// refusal returns nil if the node serves clients, else what it tells them.
func (p *Permit) refusal() error {
	if p.front == nil {
		return nil
	}
	return p.front.refusal()
}

// MustBeDecided panics unless something was decided about the request: whoever forgot to would answer anybody.
func (p *Permit) MustBeDecided() {
	if !p.decided {
		panic("service: a request is carried out or answered without a decision whether it is allowed")
	}
}

// need returns nil if the client is allowed need, else the error to answer with.
func (p *Permit) need(need acl.Permission) error { return p.decide((*access.Request).Need, need) }

// needSome is need for any one name that begins with that of need.
func (p *Permit) needSome(need acl.Permission) error {
	return p.decide((*access.Request).NeedSome, need)
}

// needNow is need for a change that is no command of the log: this node first asks the master whether permissions have
// changed.
func (p *Permit) needNow(need acl.Permission) error {
	if err := p.decide((*access.Request).NeedNow, need); err != nil || p.Decides() {
		return err
	}
	return p.makeSure()
}

// makeSure has a node without tokens make sure that its cluster has none.
func (p *Permit) makeSure() error {
	if p.front == nil {
		return nil
	}
	return p.front.makeSure(p.timeout)
}

// NeedKnown returns nil if the request has no token, or an existing one.
func (p *Permit) NeedKnown() error {
	return p.decide(func(t *access.Request, _ acl.Permission, d time.Duration) error { return t.Known(d) }, acl.Permission{})
}

// KnownHere returns what NeedKnown would, by this node's present state alone: it never waits for the master. Unlike
// NeedKnown it does not count as a decision; see MustBeDecided.
func (p *Permit) KnownHere() error {
	if err := p.refusal(); err != nil {
		return err
	}
	if p.tokens == nil {
		return p.unidentified
	}
	p.asked = true
	return p.tokens.Again()
}

// Another returns a permit of the same client for another goroutine. Nothing was decided about it.
func (p *Permit) Another() Permit {
	other := Permit{front: p.front, who: p.who, timeout: p.timeout, unidentified: p.unidentified}
	if p.tokens != nil {
		other.tokens = p.tokens.Another()
	}
	return other
}

func (p *Permit) decide(how func(*access.Request, acl.Permission, time.Duration) error, need acl.Permission) error {
	if err := p.refusal(); err != nil {
		return err
	}
	if p.unidentified != nil {
		return p.unidentified
	}
	if p.tokens != nil {
		p.asked = true
		if err := how(p.tokens, need, p.timeout); err != nil {
			return err
		}
	}
	p.decided = true
	return nil
}

// may reports whether the client is allowed need too. Something must have been decided before.
func (p *Permit) may(need acl.Permission) bool {
	if !p.Decides() {
		return true
	}
	if !p.asked {
		return false
	}
	return p.tokens.May(need)
}

// maySome is may for any one name that begins with that of need.
func (p *Permit) maySome(need acl.Permission) bool {
	if !p.Decides() {
		return true
	}
	if !p.asked {
		return false
	}
	return p.tokens.MaySome(need)
}

// missing returns the error that the client lacks need. Something must have been decided before.
func (p *Permit) missing(need acl.Permission) error { return p.tokens.Missing(need) }

// Accessor returns the accessor of the client's token, "" if there is none that this node knows, or there are no
// tokens.
func (p *Permit) Accessor() string {
	if p.tokens == nil {
		return ""
	}
	return p.tokens.Accessor()
}

// Derive returns a secret that follows from the client's own and from text; see access.Request.
func (p *Permit) Derive(text string) (string, error) {
	if p.tokens == nil {
		return "", access.ErrNoSecret
	}
	return p.tokens.Derive(text)
}

// Refresh asks the master whether permissions have changed, and decides again.
func (p *Permit) Refresh() error {
	if !p.asked {
		return nil
	}
	return p.tokens.Refresh(p.timeout)
}

// Again decides by this node's present state. Call it after a read that goes past the methods of Request, and whenever
// a stream has news.
func (p *Permit) Again() error {
	if err := p.refusal(); err != nil || !p.asked {
		return err
	}
	return p.tokens.Again()
}

// News is closed when permissions have changed since the request was allowed. Nil: never.
func (p *Permit) News() <-chan struct{} {
	if !p.asked {
		return nil
	}
	return p.tokens.News()
}

// Expires returns a channel that receives when the token of the request expires; nil: never. The caller calls stop when
// it no longer listens.
func (p *Permit) Expires() (_ <-chan time.Time, stop func()) {
	if p.asked {
		if at, ok := p.tokens.Expires(); ok {
			t := time.NewTimer(time.Until(at))
			return t.C, func() { t.Stop() }
		}
	}
	return nil, func() {}
}

// while returns a context that ends with ctx, or when the needs of the request are no longer all allowed. done ends the
// context, and returns why the request is not allowed. Until then no other decision about it may be made.
func (p *Permit) while(ctx context.Context) (_ context.Context, done func() error) {
	if !p.asked {
		return ctx, func() error { return nil }
	}
	return p.tokens.While(ctx)
}
