package web

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// drawnSecret returns the secret that the client has chosen, or a new one. Copies of the same request get the same one.
func drawnSecret(x *exchange, given string) (string, error) {
	secret, err := givenID("SecretID", given)
	if err != nil || secret != "" {
		return secret, err
	}
	if !keyed(x) {
		return uuid.NewString(), nil
	}
	key, bases := x.r.Header[api.HeaderIdempotencyKey][0], x.r.Header[api.HeaderBase]
	if len(bases) == 0 { // once the key is forgotten, it would make a token with the secret of one that was deleted
		return "", service.Invalid("a secret is made under %s only together with %s: send both, or a SecretID that you have drawn: "+
			"nothing was changed", api.HeaderIdempotencyKey, api.HeaderBase)
	}
	secret, err = x.req.Derive(bases[0] + "\n" + key)
	if errors.Is(err, service.ErrNoSecret) {
		return "", service.Invalid("no secret can be made under %s for a request without a token of its own (a client certificate has "+
			"no secret that retries could share): send SecretID and AccessorID that you have drawn, or no %s: nothing was changed",
			api.HeaderIdempotencyKey, api.HeaderIdempotencyKey)
	}
	return secret, err
}

// newToken is a token to be made.
type newToken struct {
	kv.Token
	secret string
	said   any // what the client has said of it
	// refusal is why this node would not make the token; nil: it would. Under an idempotency key the log is asked all the
	// same, since an earlier copy may have made it.
	refusal error
}

// create makes t, and answers with its secret.
func (h *aclHandler) create(x *exchange, q *query, t newToken) error {
	x.req.Line.About(t.Accessor)
	t.Secret = kv.HashSecret(t.secret)
	if t.refusal != nil {
		if !keyed(x) {
			return t.refusal
		}
		t.Policies, t.Expires, t.TTL = []string{noPolicyAtAll}, 0, 0
	}
	c := kv.PutToken(t.Token, true)
	c.Said = string(hashOf(struct{ Accessor, Secret, Said any }{t.Accessor, t.Secret, t.said}))
	if err := validToken(&c); err != nil {
		return err
	}
	res, a, err := h.apply(x, &c)
	if t.refusal != nil && res.Code == kv.CodeMissing {
		return t.refusal
	}
	if err != nil {
		return err
	}
	x.made(q, a, &res, t.Token, t.secret)
	return nil
}

// noPolicyAtAll is an ID that no policy ever has: it is that of a token.
const noPolicyAtAll = kv.AnonymousToken

// made answers with a token that res, or an earlier copy, has made.
func (x *exchange) made(q *query, a *kv.ACL, res *kv.Result, t kv.Token, secret string) {
	t.CreateIndex, t.ModifyIndex = res.Revision, res.Revision
	if now, there := a.Token(t.Accessor); there {
		t = *now
	}
	x.showsSecret(q, a, &t, secret)
}

func (h *aclHandler) createToken(x *exchange) error {
	var in tokenBody
	a, q, err := h.mayWrite(x, &consulWriteRules, &in)
	if err != nil {
		return err
	}
	accessor, err := givenID("AccessorID", in.AccessorID)
	if err == nil && accessor == "" {
		accessor, err = h.identified(x)
	}
	if err != nil {
		return err
	}
	t := newToken{said: struct{ Create tokenBody }{in}}
	if t.secret, err = drawnSecret(x, in.SecretID); err != nil {
		return err
	}
	if t.Token, err = in.token(accessor, a); err != nil {
		return err
	}
	if err := in.expires(&t.Token, time.Now()); err != nil {
		if in.ExpirationTTL != 0 {
			return err
		}
		t.refusal = err // the time may have come near since an earlier copy
	}
	return h.create(x, &q, t)
}

// showsSecret answers with a token, and the secret that it was made with.
func (x *exchange) showsSecret(q *query, a *kv.ACL, t *kv.Token, secret string) {
	out := tokenOut(t, a)
	out.SecretID = secret
	x.shows(q, a, out)
}

// cloneToken makes a token with the policies and the end of another one.
func (h *aclHandler) cloneToken(x *exchange) error {
	var in api.CloneRequest
	a, q, err := h.mayWrite(x, &consulWriteRules, &in)
	if err != nil {
		return err
	}
	source, err := idAt(x, api.PathACLTokens, api.ACLClone, "AccessorID of a token")
	if err != nil {
		return err
	}
	accessor, err := h.identified(x)
	if err != nil {
		return err
	}
	t := newToken{said: struct {
		Clone string
		As    api.CloneRequest
	}{source, in}}
	if t.secret, err = drawnSecret(x, ""); err != nil {
		return err
	}
	old, refusal := tokenOf(a, source)
	if refusal == nil {
		t.Token, refusal = cloneOf(old, a, time.Now())
	}
	t.Accessor, t.refusal = accessor, refusal
	if in.Description != "" {
		t.Description = in.Description
	}
	return h.create(x, &q, t)
}

// cloneOf returns a token that is allowed what old is, and ends when old ends, as in Consul. It has no secret yet. A
// certificate stands for one token, and goes on standing for old.
func cloneOf(old *kv.Token, a *kv.ACL, now time.Time) (kv.Token, error) {
	t := kv.Token{Name: old.Name, Description: old.Description, Local: old.Local, Created: now.UnixNano(), Expires: old.Expires}
	for _, p := range a.PoliciesOf(old) {
		t.Policies = append(t.Policies, p.ID)
	}
	if t.Expires == 0 {
		return t, nil
	}
	if t.TTL = time.Duration(old.Expires - t.Created); t.TTL < api.MinTokenTTL {
		return t, service.Invalid("the token expires in less than %v, and its clone would end with it: nothing was changed",
			api.MinTokenTTL)
	}
	return t, nil
}
