package access

import (
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/acl"
)

// Request is one request with the needs found so far. It keeps them to decide them again with newer tokens and
// policies. It is used by one goroutine at a time.
type Request struct {
	decider *Decider
	who     Credentials
	hash    kv.SecretHash // of who.Secret
	names   []string      // of who.Certificate
	needs   []need
	// against is what the first decided of needs were last decided with, and found all allowed; nil before.
	against *news
	decided int
	subject *subject
}

// need is something that the request needs.
type need struct {
	acl.Permission
	some bool // of any name that begins with Name
}

// Begin begins a request.
func (d *Decider) Begin(who Credentials) *Request {
	r := &Request{decider: d, who: who, names: who.names()}
	if who.Secret != "" {
		r.hash = kv.HashSecret(who.Secret)
	}
	return r
}

// Another returns a request of the same client, which needs nothing yet.
func (r *Request) Another() *Request {
	return &Request{decider: r.decider, who: r.who, names: r.names, hash: r.hash}
}

// Need returns nil if the request is allowed p too. The error is a *DeniedError, ErrUnknownToken, or ErrUnsure. Before
// it returns one of the first two, this node catches up with every change acknowledged before the call, so it knows
// tokens just made through another node. timeout bounds that wait.
func (r *Request) Need(p acl.Permission, timeout time.Duration) error {
	return r.add(need{p, false}, timeout)
}

// NeedSome is Need for at least one name that begins with p.Name.
func (r *Request) NeedSome(p acl.Permission, timeout time.Duration) error {
	return r.add(need{p, true}, timeout)
}

// NeedNow is Need after this node has caught up. It is for requests that are not commands of the log. (A command of the
// log is refused there if permissions have changed: see kv.Command.Decided.)
func (r *Request) NeedNow(p acl.Permission, timeout time.Duration) error {
	until := time.Now().Add(timeout)
	r.needs = append(r.needs, need{p, false})
	known := r.Again() == nil // by what this node knows so far
	if err := r.decider.rounds.wait(timeout, known); err != nil {
		return err
	}
	return r.settle(time.Until(until))
}

// NeedHere is Need, or NeedSome, by this node's present state, without a wait. It is for callers that have just caught
// up with the master, or that do not refuse by its result.
func (r *Request) NeedHere(p acl.Permission, some bool) error {
	r.needs = append(r.needs, need{p, some})
	return r.Again()
}

// Next makes r the next request of the same client, which needs nothing yet.
func (r *Request) Next() {
	if cap(r.needs) > keptNeeds {
		r.needs = nil
	}
	r.needs, r.decided = r.needs[:0], 0
}

// keptNeeds bounds the space for needs that is kept for the next request.
const keptNeeds = 256

// Needs returns how many things r needs.
func (r *Request) Needs() int { return len(r.needs) }

// Known returns nil if the request has no secret, or the secret of a token. Its errors are those of Need.
func (r *Request) Known(timeout time.Duration) error { return r.settle(timeout) }

func (r *Request) add(n need, timeout time.Duration) error {
	r.needs = append(r.needs, n)
	return r.settle(timeout)
}

// settle decides by this node's state, and after a refusal once more when the node has caught up.
func (r *Request) settle(timeout time.Duration) error {
	if r.Again() == nil {
		return nil
	}
	if err := r.decider.rounds.wait(timeout, false); err != nil {
		return err
	}
	return r.Again()
}

// Again decides all needs so far by this node's present state. Unlike Need it does not wait.
func (r *Request) Again() error {
	now := r.decider.news.Load()
	if now.acl == nil {
		return errNothingKnown
	}
	s, decided := r.subject, r.decided
	if now != r.against || r.ends() {
		t := r.token(now.acl)
		if t == nil || r.decider.expired(t) {
			return ErrUnknownToken
		}
		if now != r.against || t != s.token { // else what was decided is as it was
			s, decided = now.subjects.of(now.acl, t), 0
		}
	}
	for i := decided; i < len(r.needs); i++ {
		if err := s.check(&r.needs[i]); err != nil {
			return err
		}
	}
	if r.decided == 0 { // once a request: it reads the clock
		s.used.note(r.decider.cfg.Now())
	}
	r.against, r.decided, r.subject = now, len(r.needs), s
	return nil
}

// ends reports whether the request may have lost its token by the time alone.
func (r *Request) ends() bool {
	return r.decider.expired(r.subject.token) || r.who.Secret == "" && r.who.Certificate != nil
}

// expired reports whether the time of t is over, whether t is still in its table or not.
func (d *Decider) expired(t *kv.Token) bool {
	return t.Expires != 0 && d.cfg.Now().UnixNano() >= t.Expires
}

// token returns the token of the request, also one that has expired; nil if there is none with the secret.
func (r *Request) token(a *kv.ACL) *kv.Token {
	if r.who.Secret != "" {
		t, _ := a.TokenOfSecret(r.hash)
		return t
	}
	for _, name := range r.namesNow() {
		if t, found := a.TokenOfCertificate(name); found {
			return t
		}
	}
	t, _ := a.Token(api.AnonymousAccessor)
	return t
}

// namesNow returns the names of the certificate: an expired one, on a connection that is still open, has none.
func (r *Request) namesNow() []string {
	if r.who.Certificate == nil || r.decider.cfg.Now().After(r.who.Certificate.NotAfter) {
		return nil
	}
	return r.names
}

func (s *subject) check(n *need) error {
	allowed := s.may.Allows
	if n.some {
		allowed = s.may.AllowsSome
	}
	if allowed(n.Permission) {
		return nil
	}
	return &DeniedError{Accessor: s.token.Accessor, Missing: n.Permission, Some: n.some}
}

// Missing returns the error that the token by which the request was allowed does not allow p.
func (r *Request) Missing(p acl.Permission) error {
	return &DeniedError{Accessor: r.Accessor(), Missing: p}
}

// Refresh decides all needs so far again after this node has caught up.
func (r *Request) Refresh(timeout time.Duration) error {
	if err := r.decider.rounds.wait(timeout, true); err != nil {
		return err
	}
	return r.Again()
}

// Accessor returns the accessor of the token by which the request was allowed, or else KnownAccessor.
func (r *Request) Accessor() string {
	if r.subject != nil {
		return r.subject.token.Accessor
	}
	return r.KnownAccessor()
}

// KnownAccessor returns the accessor of the request's token in this node's present state, or "".
func (r *Request) KnownAccessor() string {
	if t, _ := r.known(); t != nil {
		return t.Accessor
	}
	return ""
}

// Knows reports whether the request's token allows p in this node's present state. It does not wait, and does not add p
// to the needs. Its result may be outdated: use it only for hints such as a request's place.
func (r *Request) Knows(p acl.Permission) bool {
	t, now := r.known()
	return t != nil && now.subjects.of(now.acl, t).may.Allows(p)
}

// KnowsSome is Knows for at least one name that begins with p.Name.
func (r *Request) KnowsSome(p acl.Permission) bool {
	t, now := r.known()
	return t != nil && now.subjects.of(now.acl, t).may.AllowsSome(p)
}

// known returns the request's token in this node's present state, nil if there is none.
func (r *Request) known() (*kv.Token, *news) {
	now := r.decider.news.Load()
	if now.acl == nil {
		return nil, now
	}
	t := r.token(now.acl)
	if t == nil || r.decider.expired(t) {
		return nil, now
	}
	return t, now
}

// Revision returns the revision of the tokens and policies with which the request was allowed: kv.Command.Decided.
func (r *Request) Revision() uint64 { return r.against.acl.Revision() }

// Token returns the token by which the request was allowed.
func (r *Request) Token() *kv.Token { return r.subject.token }

// May reports whether the token by which the request was allowed allows p too. Before it was, nothing is allowed.
func (r *Request) May(p acl.Permission) bool { return r.subject != nil && r.subject.may.Allows(p) }

// MaySome is May for any one name that begins with that of p.
func (r *Request) MaySome(p acl.Permission) bool {
	return r.subject != nil && r.subject.may.AllowsSome(p)
}

// News is closed when there are newer tokens or policies than those with which the request was allowed. Nil before it
// was.
func (r *Request) News() <-chan struct{} {
	if r.against == nil {
		return nil
	}
	return r.against.over
}

// Expires returns when the token of the request expires, or the certificate that names it; false: never.
func (r *Request) Expires() (at time.Time, ok bool) {
	if r.subject == nil {
		return time.Time{}, false
	}
	if e := r.subject.token.Expires; e != 0 {
		at, ok = time.Unix(0, e), true
	}
	if r.who.Secret != "" || r.namesNow() == nil { // an expired certificate names nobody, and so cannot expire again
		return at, ok
	}
	if end := r.who.Certificate.NotAfter.Add(1); !ok || end.Before(at) {
		return end, true
	}
	return at, ok
}

// AgainAt is Need for all needs so far, by the tokens and policies of that revision or a later one. It is for a command
// that was refused because it was decided with older ones.
func (r *Request) AgainAt(revision uint64, timeout time.Duration) error {
	until := time.Now().Add(timeout)
	if a := r.decider.ACL(); a == nil || a.Revision() < revision {
		if err := r.decider.rounds.wait(timeout, true); err != nil {
			return err
		}
	}
	return r.settle(time.Until(until))
}
