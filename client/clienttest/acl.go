package clienttest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"tenure/api"
)

// acls are the tokens and policies. It knows the bodies of rules as texts only. Cluster.mu guards it.
type acls struct {
	required     bool
	may          func(api.Token, Request) string
	bootstrapped bool
	secrets      map[string]string    // accessors, by secret
	tokens       map[string]api.Token // by accessor
	policies     map[string]api.Policy
	drawn        int
}

func newACLs() acls {
	a := acls{secrets: map[string]string{}, tokens: map[string]api.Token{}, policies: map[string]api.Policy{}}
	a.policies[api.ManagementPolicyID] = api.Policy{ID: api.ManagementPolicyID, Name: api.ManagementPolicyName}
	a.tokens[api.AnonymousAccessor] = api.Token{AccessorID: api.AnonymousAccessor, SecretID: api.HiddenSecret}
	return a
}

// RequireTokens makes requests need a token from now on. may returns why a token may not make a request, as in "lacks
// permission 'key:write' on \"a\"", or "". The token of a request without one is that of api.AnonymousAccessor. may is
// not asked about a token with the policy api.ManagementPolicyName, which may do everything. With a nil may, no other
// token may do anything. Rules of policies are not looked at.
func (c *Cluster) RequireTokens(may func(api.Token, Request) string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acls.required, c.acls.may = true, may
}

// AddToken adds a token, without HTTP. Its secret is t.SecretID.
func (c *Cluster) AddToken(t api.Token) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acls.add(t)
}

// RevokeToken deletes the token with that secret, without HTTP.
func (c *Cluster) RevokeToken(secret string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acls.remove(c.acls.secrets[secret])
}

func (a *acls) add(t api.Token) api.Token {
	if t.AccessorID == "" {
		t.AccessorID = a.draw()
	}
	a.secrets[t.SecretID] = t.AccessorID
	t.CreateTime, t.SecretID = time.Unix(1, 0).UTC(), api.HiddenSecret
	a.tokens[t.AccessorID] = t
	return t
}

func (a *acls) remove(accessor string) {
	delete(a.tokens, accessor)
	maps.DeleteFunc(a.secrets, func(_, of string) bool { return of == accessor })
}

func (a *acls) draw() string {
	a.drawn++
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", a.drawn)
}

// refuses returns why the request is refused; "": it is not.
func (a *acls) refuses(r *http.Request, about Request) (api.Code, string) {
	if !a.required || r.URL.Path == api.PathACLBootstrap || r.URL.Path == api.PathStatus {
		return "", ""
	}
	accessor, secret := api.AnonymousAccessor, r.Header.Get(api.HeaderToken)
	if secret != "" {
		accessor = a.secrets[secret]
	}
	t, ok := a.tokens[accessor]
	why := "lacks permission"
	switch {
	case !ok:
		return api.CodeUnknownToken, api.TextUnknownToken
	case slices.ContainsFunc(t.Policies, isManagement), r.URL.Path == api.PathACLTokenSelf && secret != "":
		return "", ""
	case a.may != nil && !strings.HasPrefix(r.URL.Path, api.PathACL):
		why = a.may(t, about)
	}
	if why == "" {
		return "", ""
	}
	return api.CodeDenied, api.TextDenied + ": token with AccessorID '" + accessor + "' " + why
}

func isManagement(l api.ACLLink) bool { return l.ID == api.ManagementPolicyID }

// read answers a GET.
func (a *acls) read(w http.ResponseWriter, r *http.Request) func() {
	path := r.URL.Path
	if path == api.PathACLTokenSelf {
		path = api.PathACLTokens + a.secrets[r.Header.Get(api.HeaderToken)]
	}
	switch {
	case path == api.PathACLTokenList:
		return sendJSON(w, a.listTokens(r.URL.Query().Get(api.QueryPolicy)))
	case path == api.PathACLPolicyList:
		return sendJSON(w, a.listPolicies())
	}
	if accessor, ok := strings.CutPrefix(path, api.PathACLTokens); ok {
		t, ok := a.tokens[accessor]
		switch {
		case ok && r.URL.Query().Has(api.QueryExpanded):
			return sendJSON(w, a.expanded(t))
		case ok:
			return sendJSON(w, t)
		}
		return refuse(w, 404, api.CodeNotFound, "there is no such token")
	}
	if p, ok := a.policyAt(path); ok {
		return sendJSON(w, p)
	}
	return refuse(w, 404, api.CodeNotFound, "there is no such policy")
}

// policyAt returns the policy that the path is about.
func (a *acls) policyAt(path string) (api.Policy, bool) {
	if name, ok := strings.CutPrefix(path, api.PathACLPolicyName); ok {
		return a.policy(api.ACLLink{Name: name})
	}
	p, ok := a.policies[strings.TrimPrefix(path, api.PathACLPolicies)]
	return p, ok
}

// policy returns the one that l names.
func (a *acls) policy(l api.ACLLink) (api.Policy, bool) {
	for _, p := range a.policies {
		if p.ID == l.ID || l.ID == "" && p.Name == l.Name {
			return p, true
		}
	}
	return api.Policy{}, false
}

func (a *acls) expanded(t api.Token) api.TokenExpanded {
	out := api.TokenExpanded{Token: t}
	for _, l := range t.Policies {
		out.ExpandedPolicies = append(out.ExpandedPolicies, a.policies[l.ID])
	}
	return out
}

func (a *acls) listTokens(policy string) []api.TokenListEntry {
	out := []api.TokenListEntry{}
	for _, id := range slices.Sorted(maps.Keys(a.tokens)) {
		t := a.tokens[id]
		if policy == "" || slices.ContainsFunc(t.Policies, func(l api.ACLLink) bool { return l.ID == policy }) {
			out = append(out, api.TokenListEntry{AccessorID: id, SecretID: t.SecretID, Name: t.Name,
				Description: t.Description, Policies: t.Policies, ExpirationTime: t.ExpirationTime,
				CreateTime: t.CreateTime})
		}
	}
	return out
}

func (a *acls) listPolicies() []api.PolicyListEntry {
	out := []api.PolicyListEntry{}
	for _, id := range slices.Sorted(maps.Keys(a.policies)) {
		p := a.policies[id]
		out = append(out, api.PolicyListEntry{ID: id, Name: p.Name, Description: p.Description})
	}
	return out
}

// write does a write.
func (a *acls) write(r *http.Request, body []byte) reply {
	path := r.URL.Path
	accessor, ofToken := strings.CutPrefix(path, api.PathACLTokens)
	id, ofPolicy := strings.CutPrefix(path, api.PathACLPolicies)
	switch {
	case path == api.PathACLBootstrap:
		return a.bootstrap(body)
	case ofToken && r.Method == http.MethodDelete:
		a.remove(accessor)
		return reply{status: 200, body: "true"}
	case ofPolicy && r.Method == http.MethodDelete:
		delete(a.policies, id)
		return reply{status: 200, body: "true"}
	case path == api.PathACLToken:
		return a.makeToken(body, "")
	case path == api.PathACLPolicy:
		return a.makePolicy(body, a.draw())
	case ofToken && a.tokens[accessor].AccessorID == "":
		return reply{status: 404, code: api.CodeNotFound, body: "there is no such token"}
	case ofPolicy && a.policies[id].ID == "":
		return reply{status: 404, code: api.CodeNotFound, body: "there is no such policy"}
	case ofToken:
		return a.makeToken(body, accessor)
	case ofPolicy:
		return a.makePolicy(body, id)
	}
	return reply{status: 404, code: api.CodeInvalid, body: "no such endpoint"}
}

func (a *acls) bootstrap(body []byte) reply {
	var want api.BootstrapRequest
	switch {
	case len(body) > 0 && decode(body, &want) != nil:
		return reply{status: 400, code: api.CodeInvalid, body: "bad JSON"}
	case a.bootstrapped:
		return reply{status: 403, code: api.CodeDenied, body: api.TextDenied + ": the cluster was bootstrapped already"}
	case want.BootstrapSecret == "":
		want.BootstrapSecret = a.draw()
	}
	a.bootstrapped = true
	t := a.add(api.Token{SecretID: want.BootstrapSecret, Description: "Bootstrap Token (Global Management)",
		Policies: []api.ACLLink{{ID: api.ManagementPolicyID, Name: api.ManagementPolicyName}}})
	t.SecretID = want.BootstrapSecret
	return reply{status: 200, body: string(encode(t))}
}

// makeToken makes a token, or gives the one of that accessor what the body says.
func (a *acls) makeToken(body []byte, accessor string) reply {
	var want api.TokenRequest
	if decode(body, &want) != nil || accessor != "" && want.AccessorID != "" && want.AccessorID != accessor {
		return reply{status: 400, code: api.CodeInvalid, body: "bad JSON"}
	}
	t := api.Token{AccessorID: want.AccessorID, SecretID: want.SecretID, Name: want.Name, Description: want.Description,
		Certificate: want.Certificate}
	for _, l := range want.Policies {
		p, ok := a.policy(l)
		if !ok {
			return reply{status: 400, code: api.CodeInvalid, body: "there is no policy " + l.ID + l.Name}
		}
		t.Policies = append(t.Policies, api.ACLLink{ID: p.ID, Name: p.Name})
	}
	if ttl, err := time.ParseDuration(want.ExpirationTTL); err == nil {
		at := time.Now().Add(ttl)
		t.ExpirationTime = &at
	}
	if accessor != "" {
		old := a.tokens[accessor]
		old.Name, old.Description, old.Policies, old.Certificate = t.Name, t.Description, t.Policies, t.Certificate
		a.tokens[accessor] = old
		return reply{status: 200, body: string(encode(old))}
	}
	if t.SecretID == "" {
		t.SecretID = a.draw()
	}
	secret := t.SecretID
	t = a.add(t)
	t.SecretID = secret
	return reply{status: 200, body: string(encode(t))}
}

// makePolicy makes a policy, or gives the one of that id what the body says.
func (a *acls) makePolicy(body []byte, id string) reply {
	var want api.PolicyRequest
	if decode(body, &want) != nil {
		return reply{status: 400, code: api.CodeInvalid, body: "bad JSON"}
	}
	if other, ok := a.policy(api.ACLLink{Name: want.Name}); ok && other.ID != id || want.Name == "" {
		return reply{status: 400, code: api.CodeInvalid, body: "there is a policy of this name already, or it has none"}
	}
	a.policies[id] = api.Policy{ID: id, Name: want.Name, Description: want.Description, Rules: want.Rules}
	return reply{status: 200, body: string(encode(a.policies[id]))}
}
