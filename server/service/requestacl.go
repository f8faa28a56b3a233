package service

import (
	"errors"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/acl"
)

// ErrNoTokens answers requests about tokens and policies on a node that has none.
var ErrNoTokens = Refuse(api.CodeInvalid, "ACL support disabled: there are no tokens on this node: start it with --acl")

// ReadACL returns the tokens and policies, with every change acknowledged before the call.
func (r *Request) ReadACL() (*kv.ACL, error) { return r.aclFor(acl.ACLRead()) }

// MayChangeACL returns what there is now, if the request may change tokens and policies.
func (r *Request) MayChangeACL() (*kv.ACL, error) { return r.aclFor(acl.ACLWrite()) }

func (r *Request) aclFor(need acl.Permission) (*kv.ACL, error) {
	if !r.Decides() {
		return nil, ErrNoTokens
	}
	if err := r.needNow(need); err != nil {
		return nil, err
	}
	return r.service.cfg.Access.ACL(), nil
}

// AboutToken notes, for the audit log, the accessor of a token that this node knows. Another text may be a secret, sent
// by mistake. If this node only does not know the token yet, the command about it is noted.
func (r *Request) AboutToken(accessor string) {
	if !r.service.HasTokens() {
		return
	}
	if a := r.service.cfg.Access.ACL(); a != nil {
		if _, there := a.Token(accessor); there {
			r.Line.About(accessor)
		}
	}
}

// OwnToken returns the tokens and policies as this node knows them, and the client's own token.
func (r *Request) OwnToken() (*kv.ACL, *kv.Token, error) {
	if !r.Decides() {
		return nil, nil, ErrNoTokens
	}
	if err := r.NeedKnown(); err != nil {
		return nil, nil, err
	}
	return r.service.cfg.Access.ACL(), r.tokens.Token(), nil
}

// Authorize answers questions about the permissions of the client's token, by the tokens and policies that this node
// knows, which it returns too.
func (r *Request) Authorize(questions []api.ACLQuestion) (*kv.ACL, []api.ACLAnswer, error) {
	if !r.Decides() {
		return nil, nil, ErrNoTokens
	}
	if err := r.NeedKnown(); err != nil {
		return nil, nil, err
	}
	answers := make([]api.ACLAnswer, len(questions))
	for i, q := range questions {
		if len(q.Segment) > api.MaxKeyBytes { // the longest name of all
			return nil, nil, Invalid("question %d: Segment has %d bytes: at most %d are accepted", i, len(q.Segment),
				api.MaxKeyBytes)
		}
		p, err := acl.Named(q.Resource, q.Access, q.Segment)
		if err != nil {
			return nil, nil, Invalid("question %d: %v", i, err)
		}
		answers[i] = api.ACLAnswer{ACLQuestion: q, Allow: r.may(p)}
	}
	return r.service.cfg.Access.ACL(), answers, nil
}

// TokenLastUsed returns when this node last allowed that token something; zero: not since it started. Something must
// have been decided.
func (r *Request) TokenLastUsed(accessor string) time.Time {
	r.MustBeDecided()
	return r.service.cfg.Access.LastUsed(accessor)
}

// TokenUses returns when tokens were last used, as all members tell it, if the client may still know that once they
// have told it. Something must have been decided.
func (r *Request) TokenUses(accessors []string) (api.TokenUses, error) {
	r.MustBeDecided()
	told, err := r.node().TokenUses(accessors)
	if err == nil {
		err = r.Again()
	}
	return told, err
}

// ACLAt returns the tokens and policies of that revision or a later one as soon as this node has them, and when the
// time of the request is over the newest that it has. Something must have been decided.
func (r *Request) ACLAt(revision uint64) *kv.ACL {
	r.MustBeDecided()
	return r.service.cfg.Access.Await(revision, r.timeout)
}

// MayBootstrap decides whether the first token may be made, with that secret; see access.Decider.Bootstrap. Everybody
// may ask, so what is refused does not get to the log.
func (r *Request) MayBootstrap(secret string) (reset int64, made *kv.Token, err error) {
	if !r.Decides() {
		return 0, nil, ErrNoTokens
	}
	if err := r.refusal(); err != nil {
		return 0, nil, err
	}
	reset, made, err = r.service.cfg.Access.Bootstrap(secret, r.timeout)
	var done *access.BootstrappedError
	switch {
	case err == nil:
		r.NeedsNothing()
	case errors.As(err, &done):
		err = Refuse(api.CodeDenied, done.Error())
	case !errors.Is(err, access.ErrUnsure):
		err = Invalid("%v: nothing was changed", err)
	}
	return reset, made, err
}

// Bootstrapped returns the refusal of a bootstrap after another one, which was at that revision.
func Bootstrapped(revision uint64) error {
	return Refuse(api.CodeDenied, (&access.BootstrappedError{Index: revision}).Error())
}

// ResetUsed takes back that one more bootstrap is allowed.
func (r *Request) ResetUsed() { r.service.cfg.Access.ResetUsed() }

// CheckRules returns why the text is not one of rules, or nil.
func CheckRules(text string) error {
	_, err := acl.Parse(text)
	return err
}

// RulesOf returns the rules of a policy, also of the built-in one.
func RulesOf(p *kv.Policy) string { return access.Rules(p) }
