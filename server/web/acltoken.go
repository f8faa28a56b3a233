package web

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"tenure/api"
	"tenure/internal/days"
	"tenure/kv"
	"tenure/server/service"
)

// tokenBody is the JSON of a token to make or change. Members set by the node are accepted and ignored, as in Consul,
// so that a token may be sent as it was read.
type tokenBody struct {
	AccessorID     string
	SecretID       string
	Name           string
	Description    string
	Policies       []api.ACLLink
	Local          bool
	Certificate    *string // nil in an update: it stays
	ExpirationTTL  tokenTTL
	ExpirationTime *time.Time

	Roles               empty
	ServiceIdentities   empty
	NodeIdentities      empty
	TemplatedPolicies   empty
	AuthMethod          string
	AuthMethodNamespace string
	Namespace           string
	Partition           string
	CreateTime          json.RawMessage
	LastUsed            json.RawMessage
	Hash                json.RawMessage
	CreateIndex         json.RawMessage
	ModifyIndex         json.RawMessage
}

// tokenTTL reads as in Consul: text with a unit, or a number of nanoseconds.
type tokenTTL time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *tokenTTL) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		if text == "" {
			return nil
		}
		parsed, err := days.ParseSigned(text)
		*d = tokenTTL(parsed)
		return err
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	*d = tokenTTL(n)
	return err
}

// token returns the token in the body, without its secret and its time.
func (in *tokenBody) token(accessor string, a *kv.ACL) (kv.Token, error) {
	t := kv.Token{Accessor: accessor, Name: in.Name, Description: in.Description, Local: in.Local}
	if in.Certificate != nil {
		t.Certificate = *in.Certificate
	}
	err := firstError(in.Roles.check("Roles"), in.ServiceIdentities.check("ServiceIdentities"),
		in.NodeIdentities.check("NodeIdentities"), in.TemplatedPolicies.check("TemplatedPolicies"),
		atDefault("AuthMethod", in.AuthMethod), atDefault("AuthMethodNamespace", in.AuthMethodNamespace),
		atDefault("Namespace", in.Namespace, "default"), atDefault("Partition", in.Partition, "default"))
	for _, link := range in.Policies {
		if err != nil {
			break
		}
		var id string
		id, err = linkOf(link, a)
		t.Policies = append(t.Policies, id)
	}
	return t, err
}

// linkOf returns the ID of the policy that a link names, or its name, if this node knows none of that name.
func linkOf(link api.ACLLink, a *kv.ACL) (string, error) {
	id := link.ID
	if p, there := a.PolicyByName(link.Name); there {
		if id != "" && id != p.ID {
			return "", service.Invalid("policy %q has another ID than %.80q: give one of them: nothing was changed",
				link.Name, id)
		}
		return p.ID, nil
	}
	id = cmp.Or(id, link.Name)
	if id == "" {
		return "", service.Invalid("Policies: each needs an ID or a Name: nothing was changed")
	}
	return id, nil
}

// expires puts into t how long it is to live, from now on.
func (in *tokenBody) expires(t *kv.Token, now time.Time) error {
	t.Created, t.TTL = now.UnixNano(), time.Duration(in.ExpirationTTL)
	if in.ExpirationTime != nil && !in.ExpirationTime.IsZero() {
		if t.TTL != 0 {
			return service.Invalid("give ExpirationTTL or ExpirationTime, not both: nothing was changed")
		}
		t.TTL = in.ExpirationTime.Sub(now)
	} else if t.TTL == 0 {
		return nil
	}
	if t.TTL < api.MinTokenTTL || t.TTL > api.MaxTokenTTL {
		return service.Invalid("a token may live from %v to %v, not %v: nothing was changed",
			api.MinTokenTTL, api.MaxTokenTTL, t.TTL)
	}
	t.Expires = now.Add(t.TTL).UnixNano()
	return nil
}

// validToken refuses a command that no node would apply. Said does not count: without a key it is left out.
func validToken(c *kv.Command) error {
	plain := *c
	plain.Said = ""
	if err := plain.Validate(); err != nil {
		return service.Invalid("Invalid Token: %v: nothing was changed", err)
	}
	return nil
}

func (h *aclHandler) updateToken(x *exchange) error {
	var in tokenBody
	a, q, err := h.mayWrite(x, &aclChangeRules, &in)
	if err != nil {
		return err
	}
	accessor, err := idAt(x, api.PathACLTokens, "", "AccessorID of a token")
	if err != nil {
		return err
	}
	old, err := tokenOf(a, accessor)
	switch {
	case err == nil:
		err = in.unchanged(old)
	case keyed(x): // the log says what an earlier copy came to
		old, err = &kv.Token{Accessor: accessor}, nil
	}
	if err != nil {
		return err
	}
	t, err := in.token(accessor, a)
	if err != nil {
		return err
	}
	if in.Certificate == nil {
		t.Certificate = old.Certificate
	}
	c := q.ifAt(kv.PutToken(t, false))
	c.Said = string(hashOf(struct {
		Update string
		To     tokenBody
	}{accessor, in}))
	if err := validToken(&c); err != nil {
		return err
	}
	res, a, err := h.apply(x, &c)
	if err != nil {
		return err
	}
	t.Created, t.Expires, t.TTL = old.Created, old.Expires, old.TTL
	t.CreateIndex, t.ModifyIndex = old.CreateIndex, res.Revision
	if now, there := a.Token(t.Accessor); there && now.ModifyIndex >= res.Revision {
		t = *now
	}
	x.shows(&q, a, tokenOut(&t, a))
	return nil
}

// unchanged refuses to change what a token keeps.
func (in *tokenBody) unchanged(old *kv.Token) error {
	other := in.ExpirationTime != nil && !in.ExpirationTime.IsZero() && in.ExpirationTime.UnixNano() != old.Expires
	switch {
	case in.AccessorID != "" && in.AccessorID != old.Accessor:
		return service.Invalid("AccessorID %.80q is not that of the path: nothing was changed", in.AccessorID)
	case in.SecretID != "" && in.SecretID != api.HiddenSecret && kv.HashSecret(in.SecretID) != old.Secret:
		return service.Invalid("the SecretID of a token cannot be changed: make another token: nothing was changed")
	case other, in.ExpirationTTL != 0 && time.Duration(in.ExpirationTTL) != old.TTL:
		return service.Invalid("the expiration of a token cannot be changed: make another token: nothing was changed")
	}
	return nil
}

// tokenOf returns the token of an accessor, unless it has expired.
func tokenOf(a *kv.ACL, accessor string) (*kv.Token, error) {
	t, there := a.Token(accessor)
	if !there || t.Expires != 0 && time.Now().UnixNano() >= t.Expires {
		return nil, service.Refuse(api.CodeNotFound, "token "+quoted(accessor)+" does not exist")
	}
	return t, nil
}

// deleteToken ends a token; true also if there is none.
func (h *aclHandler) deleteToken(x *exchange) error {
	a, q, err := h.mayWrite(x, &aclChangeRules, nil)
	if err != nil {
		return err
	}
	accessor, err := idAt(x, api.PathACLTokens, "", "AccessorID of a token")
	switch {
	case err != nil:
		return err
	case accessor == kv.AnonymousToken:
		return service.Invalid("the anonymous token cannot be deleted: take its policies away: nothing was changed")
	case accessor == x.req.Accessor():
		return service.Invalid("a token cannot delete itself: use another one: nothing was changed")
	}
	_, there := a.Token(accessor)
	return h.drop(x, &q, there, q.ifAt(kv.DropToken(accessor)))
}
