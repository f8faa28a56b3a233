package web

import (
	"slices"
	"strconv"
	"time"

	"tenure/api"
	"tenure/kv"
)

// self answers with the token of the request.
func (h *aclHandler) self(x *exchange) error {
	q, err := parseQuery(x.r.URL.RawQuery, &tokenReadRules)
	if err != nil {
		return err
	}
	a, t, err := x.req.OwnToken()
	if err != nil {
		return err
	}
	x.token(&q, a, t)
	return nil
}

func (h *aclHandler) readToken(x *exchange) error {
	a, q, err := h.read(x, &tokenReadRules)
	if err != nil {
		return err
	}
	accessor, err := idAt(x, api.PathACLTokens, "", "AccessorID of a token")
	if err != nil {
		return err
	}
	t, err := tokenOf(a, accessor)
	if err != nil {
		return err
	}
	x.token(&q, a, t)
	return nil
}

// token answers with t, and with its policies if that is asked for.
func (x *exchange) token(q *query, a *kv.ACL, t *kv.Token) {
	if !q.has(nExpanded) {
		x.shows(q, a, x.tokenUsed(t, a))
		return
	}
	out := api.TokenExpanded{ExpandedPolicies: []api.Policy{}, Token: x.tokenUsed(t, a)}
	for _, p := range a.PoliciesOf(t) {
		out.ExpandedPolicies = append(out.ExpandedPolicies, policyOut(p))
	}
	x.shows(q, a, out)
}

// listTokens answers with all tokens that have not expired, or those that have a policy.
func (h *aclHandler) listTokens(x *exchange) error {
	a, q, err := h.read(x, &tokenListRules)
	if err != nil {
		return err
	}
	out, now := []api.TokenListEntry{}, time.Now().UnixNano()
	hasID := func(l api.ACLLink) bool { return l.ID == q.policy }
	a.Tokens(func(t *kv.Token) bool {
		s := x.tokenUsed(t, a)
		if t.Expires != 0 && now >= t.Expires || q.policy != "" && !slices.ContainsFunc(s.Policies, hasID) {
			return true
		}
		out = append(out, api.TokenListEntry(s))
		return true
	})
	x.shows(&q, a, out)
	return nil
}

// tokenUsed returns t as it is shown, with its last use on this node.
func (x *exchange) tokenUsed(t *kv.Token, a *kv.ACL) api.Token {
	out := tokenOut(t, a)
	if used := x.req.TokenLastUsed(t.Accessor); !used.IsZero() {
		used = used.UTC()
		out.LastUsed = &used
	}
	return out
}

// tokenOut returns t as it is shown, without its secret, which nobody knows.
func tokenOut(t *kv.Token, a *kv.ACL) api.Token {
	out := api.Token{AccessorID: t.Accessor, SecretID: api.HiddenSecret, Name: t.Name, Description: t.Description,
		Local: t.Local, Certificate: t.Certificate}
	for _, p := range a.PoliciesOf(t) {
		out.Policies = append(out.Policies, api.ACLLink{ID: p.ID, Name: p.Name})
	}
	out.Hash = hashOf(out)
	if t.Created != 0 {
		out.CreateTime = time.Unix(0, t.Created).UTC()
	}
	if t.Expires != 0 {
		at := time.Unix(0, t.Expires).UTC()
		out.ExpirationTime = &at
	}
	out.CreateIndex, out.ModifyIndex = t.CreateIndex, t.ModifyIndex
	return out
}

// quoted quotes what a client has named, cut to what is readable.
func quoted(name string) string { return strconv.Quote(name[:min(len(name), 80)]) }
