package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"tenure/api"
)

// The types of ACL.
type (
	Token           = api.Token
	TokenExpanded   = api.TokenExpanded
	TokenListEntry  = api.TokenListEntry
	Policy          = api.Policy
	PolicyListEntry = api.PolicyListEntry
	PolicyLink      = api.ACLLink
	ACLQuestion     = api.ACLQuestion
	ACLAnswer       = api.ACLAnswer
)

// TokenSpec is what a token is to be.
type TokenSpec struct {
	// AccessorID and SecretID are UUIDs. Empty: the client draws them when the token is made. They cannot be changed.
	AccessorID, SecretID string
	Name                 string
	Description          string
	Policies             []PolicyLink // each by its ID or its Name
	// Certificate is the name of a client certificate that stands for the token: a URI in it, or its common name. Empty
	// in an update: it stays as it is.
	Certificate string
	Local       bool          // means nothing, since there is one data centre
	TTL         time.Duration // after which it expires, from when it is made; 0: never, or at Expires
	Expires     time.Time     // another way to say TTL; zero: never, or after TTL
}

// PolicySpec is what a policy is to be.
type PolicySpec struct {
	Name        string // letters, digits, - and _
	Description string
	Rules       string // HCL or JSON
}

// ACL makes, shows and changes tokens and policies. The calls need a token that may; without one they fail with
// ErrDenied. The error of a token or policy that does not exist is ErrNotFound.
//
// Only the answer that makes a token has its secret. The client draws it, so that a call which sends the request several
// times makes one token. If the error is ErrUnknown, the Token has the AccessorID and the SecretID that were sent. To
// repeat such a call with Error.Once, give both in the TokenSpec, or the secret to Bootstrap.
//
// An update replaces all that there is. To change a part, read, change and write with the ModifyIndex that was read as
// WriteOptions.IfIndex: the error is ErrCondition if somebody else has changed it meanwhile.
type ACL struct{ s *sender }

// errDrawn is the error for a repeated call that lacks what the first one has drawn.
var errDrawn = errors.New("a repeated call must be given the AccessorID and SecretID of the first one")

// repeated returns an error if o repeats a call, and that one has drawn what is missing now.
func repeated(op, key string, missing bool, o WriteOptions) error {
	if missing && o.Once.Key != "" && !o.Once.New {
		return &Error{Op: op, Key: key, Kind: ErrUnknown, Err: errDrawn, Once: o.Once}
	}
	return nil
}

// Bootstrap makes the first token, which allows everything. It works once in the life of a cluster; after that it fails
// with ErrDenied. secret is its secret, a UUID; "": the client draws it.
func (l *ACL) Bootstrap(ctx context.Context, secret string, o WriteOptions) (Token, error) {
	const op = "bootstrap"
	if err := cmp.Or(repeated(op, "", secret == "", o), o.unconditional(op, "")); err != nil {
		return Token{}, err
	}
	if secret == "" {
		secret = uuid.NewString()
	}
	r := request{method: http.MethodPut, path: api.PathACLBootstrap,
		body: encode(api.BootstrapRequest{BootstrapSecret: secret})}
	return l.writeToken(ctx, op, "", r, Token{SecretID: secret}, o)
}

// CreateToken makes a token.
func (l *ACL) CreateToken(ctx context.Context, t TokenSpec, o WriteOptions) (Token, error) {
	const op = "create token"
	err := cmp.Or(repeated(op, t.Name, t.AccessorID == "" || t.SecretID == "", o), o.unconditional(op, t.Name))
	if err != nil {
		return Token{}, err
	}
	if t.AccessorID == "" {
		t.AccessorID = uuid.NewString()
	}
	if t.SecretID == "" {
		t.SecretID = uuid.NewString()
	}
	body := t.request()
	if t.TTL != 0 {
		body.ExpirationTTL = t.TTL.String()
	}
	if !t.Expires.IsZero() {
		body.ExpirationTime = &t.Expires
	}
	r := request{method: http.MethodPut, path: api.PathACLToken, body: encode(body)}
	return l.writeToken(ctx, op, t.Name, r, Token{AccessorID: t.AccessorID, SecretID: t.SecretID}, o)
}

// UpdateToken makes the token what t says. AccessorID says which; SecretID, TTL and Expires must be zero.
func (l *ACL) UpdateToken(ctx context.Context, t TokenSpec, o WriteOptions) (Token, error) {
	const op = "update token"
	if t.SecretID != "" || t.TTL != 0 || !t.Expires.IsZero() {
		return Token{}, &Error{Op: op, Key: t.AccessorID, Kind: ErrInvalid, Err: errFixedToken}
	}
	if err := checkID(op, t.AccessorID); err != nil {
		return Token{}, err
	}
	r := request{method: http.MethodPut, path: api.PathACLTokens + t.AccessorID, body: encode(t.request())}
	r.query.ifIndex(o)
	return l.writeToken(ctx, op, t.AccessorID, r, Token{}, o)
}

var errFixedToken = errors.New("the secret and the expiry of a token cannot be changed: make another one")

// CloneToken makes a token with the policies of another one, which expires when that does. Its description is that of
// the other if it is empty. No certificate stands for it. The call cannot be repeated with Error.Once: ask for the Token.
func (l *ACL) CloneToken(ctx context.Context, accessor, description string, o WriteOptions) (Token, error) {
	from, _, err := l.Token(ctx, accessor, ReadOptions{})
	if err != nil {
		return Token{}, err
	}
	t := TokenSpec{Name: from.Name, Description: cmp.Or(description, from.Description), Policies: from.Policies,
		Local: from.Local}
	if from.ExpirationTime != nil {
		t.Expires = *from.ExpirationTime
	}
	return l.CreateToken(ctx, t, o)
}

// DeleteToken ends a token. Its holder is refused from then on, on open connections too. It is no error if there is
// none.
func (l *ACL) DeleteToken(ctx context.Context, accessor string, o WriteOptions) error {
	return l.remove(ctx, "delete token", api.PathACLTokens, accessor, o)
}

// Token returns a token, without its secret.
func (l *ACL) Token(ctx context.Context, accessor string, o ReadOptions) (Token, Meta, error) {
	if err := checkID("token", accessor); err != nil {
		return Token{}, Meta{}, err
	}
	return readOne(ctx, l.s, "token", accessor, request{path: api.PathACLTokens + accessor}, o,
		func(t *Token) bool { return t.AccessorID != "" })
}

// TokenExpanded returns a token with the rules of its policies.
func (l *ACL) TokenExpanded(ctx context.Context, accessor string, o ReadOptions) (TokenExpanded, Meta, error) {
	if err := checkID("token", accessor); err != nil {
		return TokenExpanded{}, Meta{}, err
	}
	r := request{path: api.PathACLTokens + accessor}
	r.query.name(api.QueryExpanded)
	return readOne(ctx, l.s, "token", accessor, r, o, func(t *TokenExpanded) bool { return t.AccessorID != "" })
}

// Self returns the token of the Client.
func (l *ACL) Self(ctx context.Context, o ReadOptions) (Token, Meta, error) {
	return readOne(ctx, l.s, "own token", "", request{path: api.PathACLTokenSelf}, o,
		func(t *Token) bool { return t.AccessorID != "" })
}

// Tokens returns all tokens, or those that have a policy, if its ID is given.
func (l *ACL) Tokens(ctx context.Context, policy string, o ReadOptions) ([]TokenListEntry, Meta, error) {
	r := request{path: api.PathACLTokenList}
	if policy != "" {
		r.query.value(api.QueryPolicy, policy)
	}
	return readOne(ctx, l.s, "list tokens", "", r, o, func(l *[]TokenListEntry) bool { return *l != nil })
}

// CreatePolicy makes a policy.
func (l *ACL) CreatePolicy(ctx context.Context, p PolicySpec, o WriteOptions) (Policy, error) {
	const op = "create policy"
	if err := o.unconditional(op, p.Name); err != nil {
		return Policy{}, err
	}
	r := request{method: http.MethodPut, path: api.PathACLPolicy, body: encode(p.request())}
	return l.writePolicy(ctx, op, p.Name, r, o)
}

// UpdatePolicy makes the policy of that ID what p says.
func (l *ACL) UpdatePolicy(ctx context.Context, id string, p PolicySpec, o WriteOptions) (Policy, error) {
	const op = "update policy"
	if err := checkID(op, id); err != nil {
		return Policy{}, err
	}
	r := request{method: http.MethodPut, path: api.PathACLPolicies + id, body: encode(p.request())}
	r.query.ifIndex(o)
	return l.writePolicy(ctx, op, id, r, o)
}

// DeletePolicy ends a policy, and takes it from all tokens that have it. It is no error if there is none.
func (l *ACL) DeletePolicy(ctx context.Context, id string, o WriteOptions) error {
	return l.remove(ctx, "delete policy", api.PathACLPolicies, id, o)
}

// Policy returns a policy.
func (l *ACL) Policy(ctx context.Context, id string, o ReadOptions) (Policy, Meta, error) {
	if err := checkID("policy", id); err != nil {
		return Policy{}, Meta{}, err
	}
	return readOne(ctx, l.s, "policy", id, request{path: api.PathACLPolicies + id}, o,
		func(p *Policy) bool { return p.ID != "" })
}

// PolicyByName returns the policy of that name.
func (l *ACL) PolicyByName(ctx context.Context, name string, o ReadOptions) (Policy, Meta, error) {
	if err := checkID("policy", name); err != nil {
		return Policy{}, Meta{}, err
	}
	return readOne(ctx, l.s, "policy", name, request{path: api.PathACLPolicyName + name}, o,
		func(p *Policy) bool { return p.Name == name })
}

// Policies returns all policies, without their rules.
func (l *ACL) Policies(ctx context.Context, o ReadOptions) ([]PolicyListEntry, Meta, error) {
	return readOne(ctx, l.s, "list policies", "", request{path: api.PathACLPolicyList}, o,
		func(l *[]PolicyListEntry) bool { return *l != nil })
}

// Authorize tells, in the order of the questions, whether the token of the Client has these permissions. It is what one
// node has applied, so a request may be refused all the same.
func (l *ACL) Authorize(ctx context.Context, questions []ACLQuestion) ([]ACLAnswer, error) {
	const op = "authorize"
	if len(questions) > api.MaxACLQuestions {
		return nil, &Error{Op: op, Kind: ErrInvalid, Err: errTooManyQuestions}
	}
	ctx, cancel := l.s.bounded(ctx)
	defer cancel()
	r := request{method: http.MethodPost, path: api.PathACLAuthorize, body: encode(questions), idempotent: true}
	var answers []ACLAnswer
	_, err := l.s.read(ctx, op, "", func() request { return r }, func(a answer) error {
		var ok bool
		answers, ok = decodeValid(a.body, func(l *[]ACLAnswer) bool { return len(*l) == len(questions) })
		if !ok {
			return errNotUnderstood
		}
		return nil
	})
	return answers, err
}

var errTooManyQuestions = errors.New("too many questions in one call")

func (t *TokenSpec) request() api.TokenRequest {
	return api.TokenRequest{AccessorID: t.AccessorID, SecretID: t.SecretID, Name: t.Name, Description: t.Description,
		Policies: t.Policies, Local: t.Local, Certificate: t.Certificate}
}

func (p *PolicySpec) request() api.PolicyRequest {
	return api.PolicyRequest{Name: p.Name, Description: p.Description, Rules: p.Rules}
}

// writeToken sends a write that is answered with the token, and puts its secret into that, if it is known here. sent has
// the IDs of a token to be made.
func (l *ACL) writeToken(ctx context.Context, op, key string, r request, sent Token, o WriteOptions) (Token, error) {
	out, err := writeOne(ctx, l.s, op, key, r, o.Once, func(t *Token) bool { return t.AccessorID != "" })
	switch {
	case errors.Is(err, ErrUnknown):
		return sent, err
	case err == nil && sent.SecretID != "":
		out.SecretID = sent.SecretID
	}
	return out, err
}

func (l *ACL) writePolicy(ctx context.Context, op, key string, r request, o WriteOptions) (Policy, error) {
	return writeOne(ctx, l.s, op, key, r, o.Once, func(p *Policy) bool { return p.ID != "" })
}

func (l *ACL) remove(ctx context.Context, op, path, id string, o WriteOptions) error {
	if err := checkID(op, id); err != nil {
		return err
	}
	r := request{method: http.MethodDelete, path: path + id}
	r.query.ifIndex(o)
	_, err := l.s.write(ctx, op, id, r, o.Once)
	return err
}

// ifIndex adds the condition of an update or deletion.
func (q *query) ifIndex(o WriteOptions) {
	if o.IfIndex != 0 {
		q.when(condition{index: &o.IfIndex})
	}
}

// checkID returns an error for an id that cannot stand at the end of a path.
func checkID(op, id string) error {
	for i := range len(id) {
		if c := id[i]; c <= ' ' || c > '~' || c == '/' {
			return &Error{Op: op, Key: id, Kind: ErrInvalid, Err: errBadID}
		}
	}
	if id == "" || len(id) > api.MaxPolicyNameBytes {
		return &Error{Op: op, Key: id, Kind: ErrInvalid, Err: errBadID}
	}
	return nil
}

var errBadID = errors.New("this is no ID and no name of a policy")
