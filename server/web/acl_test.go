package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
)

func TestTokenEndpoints(t *testing.T) {
	g := newGuarded(t).as(root)
	var p api.Policy
	g.decoded("PUT", "/v1/acl/policy", `{"Name":"app","Description":"d","Rules":"key \"k\" { policy = \"read\" }","Datacenters":["dc1"]}`, &p)
	var made, read, self api.Token
	g.decoded("PUT", "/v1/acl/token", `{"Description":"d","Name":"n","Policies":[{"Name":"app"}],"Local":true,"Certificate":"c",
		"ExpirationTTL":3600000000000,"Roles":[],"ServiceIdentities":null,"CreateTime":"0001-01-01T00:00:00Z"}`, &made)
	if len(made.SecretID) != 36 || made.Policies[0] != (api.ACLLink{ID: p.ID, Name: "app"}) || made.Certificate != "c" ||
		!made.Local || made.ExpirationTime.Sub(made.CreateTime) != time.Hour || made.CreateIndex != made.ModifyIndex {
		t.Fatalf("%+v", made)
	}
	if strings.Contains(fmt.Sprint(g.state.ACL().Token(made.AccessorID)), made.SecretID) {
		t.Error("the state has the secret")
	}
	g.decoded("GET", "/v1/acl/token/"+made.AccessorID, "", &read)
	if read.SecretID != api.HiddenSecret || read.Description != "d" || string(read.Hash) != string(made.Hash) {
		t.Errorf("%+v", read)
	}
	g.as(made.SecretID).decoded("GET", "/v1/acl/token/self", "", &self)
	if self.AccessorID != made.AccessorID || self.SecretID != api.HiddenSecret {
		t.Errorf("%+v", self)
	}
	g.wants("GET", "/v1/acl/token/self?expanded", "", 200, `"Rules":"key \"k\" { policy = \"read\" }"`)
	g.wants("GET", "/v1/acl/token/"+made.AccessorID, "", 403, "'acl:read'")
	g.as(root)
	if read.LastUsed != nil {
		t.Errorf("used at %v before it was", read.LastUsed)
	}
	g.as(root).decoded("GET", "/v1/acl/token/"+made.AccessorID, "", &read)
	if read.LastUsed == nil || time.Since(*read.LastUsed) > time.Minute {
		t.Errorf("last used at %v", read.LastUsed)
	}
	read = api.Token{}
	// The body is the answer to a read, with another description. Omitted fields are cleared, except the certificate.
	g.decoded("PUT", "/v1/acl/token/"+made.AccessorID, `{"AccessorID":"`+made.AccessorID+`","SecretID":"<hidden>","Description":"e"}`, &read)
	if read.Description != "e" || len(read.Policies) != 0 || read.Certificate != "c" || read.CreateIndex != made.CreateIndex ||
		read.ModifyIndex <= made.ModifyIndex || !read.ExpirationTime.Equal(*made.ExpirationTime) {
		t.Errorf("%+v", read)
	}
	var list []api.TokenListEntry
	g.decoded("GET", "/v1/acl/tokens", "", &list)
	if len(list) != 3 {
		t.Errorf("%+v", list)
	}
	g.decoded("GET", "/v1/acl/tokens?policy="+kv.ManagementPolicy, "", &list)
	if len(list) != 1 || list[0].SecretID != api.HiddenSecret {
		t.Errorf("%+v", list)
	}
	var clone api.Token
	g.decoded("PUT", "/v1/acl/token/"+list[0].AccessorID+"/clone", `{"Description":"twin"}`, &clone)
	if clone.Description != "twin" || clone.AccessorID == list[0].AccessorID || clone.Policies[0].ID != kv.ManagementPolicy {
		t.Errorf("%+v", clone)
	}
	g.as(clone.SecretID).wants("DELETE", "/v1/acl/token/"+clone.AccessorID, "", 400, "cannot delete itself")
	g.as(root).wants("DELETE", "/v1/acl/token/"+clone.AccessorID, "", 200, "true")
	g.wants("DELETE", "/v1/acl/token/"+clone.AccessorID, "", 200, "true")
	g.as(clone.SecretID).wants("GET", "/v1/kv/k", "", 403, api.TextUnknownToken)
	g.as(root).wants("GET", "/v1/acl/token/"+clone.AccessorID, "", 404, "does not exist")
}

func TestPolicyEndpoints(t *testing.T) {
	g := newGuarded(t).as(root)
	var p, read api.Policy
	g.decoded("PUT", "/v1/acl/policy", `{"Name":"app","Rules":"key_prefix \"a/\" { policy = \"read\" }"}`, &p)
	g.decoded("GET", "/v1/acl/policy/"+p.ID, "", &read)
	if read.Rules != `key_prefix "a/" { policy = "read" }` || read.CreateIndex != p.CreateIndex {
		t.Errorf("%+v", read)
	}
	g.decoded("PUT", "/v1/acl/policy/"+p.ID, `{"Name":"other","Description":"d"}`, &p)
	g.decoded("GET", "/v1/acl/policy/name/other", "", &read)
	if read.ID != p.ID || read.Rules != "" || read.CreateIndex >= read.ModifyIndex {
		t.Errorf("%+v", read)
	}
	g.wants("GET", "/v1/acl/policy/name/"+api.ManagementPolicyName, "", 200, `operator = \"write\"`)
	g.wants("GET", "/v1/acl/policy/name/app", "", 404, "does not exist")
	var list []api.PolicyListEntry
	g.decoded("GET", "/v1/acl/policies", "", &list)
	if len(list) != 2 || list[0].ID != kv.ManagementPolicy || list[1].Name != "other" {
		t.Errorf("%+v", list)
	}
	g.wants("DELETE", "/v1/acl/policy/"+p.ID, "", 200, "true")
	g.wants("DELETE", "/v1/acl/policy/"+p.ID, "", 200, "true")
	g.wants("GET", "/v1/acl/policy/"+p.ID, "", 404, "does not exist")
}

// An update with cas is done only if nobody has changed the policy or token since it was read.
func TestUpdatesWithACondition(t *testing.T) {
	g := newGuarded(t).as(root)
	var p, changed api.Policy
	var token, again api.Token
	g.decoded("PUT", "/v1/acl/policy", `{"Name":"app"}`, &p)
	g.decoded("PUT", "/v1/acl/token", `{"Description":"d"}`, &token)
	at := func(path, id string, index uint64) string { return fmt.Sprintf("%s%s?cas=%d", path, id, index) }
	g.decoded("PUT", at(api.PathACLPolicies, p.ID, p.ModifyIndex), `{"Name":"app","Description":"first"}`, &changed)
	w := g.call("PUT", at(api.PathACLPolicies, p.ID, p.ModifyIndex), `{"Name":"app","Description":"second"}`)
	if w.Code != 409 || code(w) != api.CodeCondition ||
		!strings.Contains(w.Body.String(), fmt.Sprintf("its ModifyIndex is not %d", p.ModifyIndex)) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	g.wants("GET", api.PathACLPolicies+p.ID, "", 200, `"Description":"first"`)
	g.decoded("PUT", at(api.PathACLPolicies, p.ID, changed.ModifyIndex), `{"Name":"app","Description":"third"}`, &p)

	g.decoded("PUT", at(api.PathACLTokens, token.AccessorID, token.ModifyIndex), `{"Description":"first"}`, &again)
	g.wants("PUT", at(api.PathACLTokens, token.AccessorID, token.ModifyIndex), `{"Description":"second"}`, 409, "ModifyIndex")
	g.wants("GET", api.PathACLTokens+token.AccessorID, "", 200, `"Description":"first"`)
	// A retry under its key gets the answer of the first copy, and another condition is another write.
	for _, c := range []struct {
		target string
		status int
	}{
		{at(api.PathACLTokens, token.AccessorID, again.ModifyIndex), 200},
		{at(api.PathACLTokens, token.AccessorID, again.ModifyIndex), 200},
		{at(api.PathACLTokens, token.AccessorID, again.ModifyIndex+1), 409}, {api.PathACLTokens + token.AccessorID, 409},
	} {
		if w := g.keyedCall("PUT", c.target, `{"Description":"kept"}`, "once"); w.Code != c.status {
			t.Errorf("%s: %d %s", c.target, w.Code, w.Body)
		}
	}
	for _, target := range []string{at(api.PathACLPolicies, p.ID, 0), at(api.PathACLTokens, token.AccessorID, 0)} {
		g.wants("PUT", target, `{"Name":"app"}`, 400, "never true of what exists")
	}
	g.wants("PUT", "/v1/acl/token?cas=1", `{}`, 400, "unknown query name")
}

// A deletion with cas is done only if nobody has changed the policy or token since it was read. What is gone meets
// every condition.
func TestDeletionsWithACondition(t *testing.T) {
	g := newGuarded(t).as(root)
	var p api.Policy
	var token api.Token
	g.decoded("PUT", "/v1/acl/policy", `{"Name":"app"}`, &p)
	g.decoded("PUT", "/v1/acl/token", `{"Description":"d"}`, &token)
	for _, x := range []struct {
		path  string
		index uint64
	}{{api.PathACLPolicies + p.ID, p.ModifyIndex}, {api.PathACLTokens + token.AccessorID, token.ModifyIndex}} {
		at := func(index uint64) string { return fmt.Sprintf("%s?cas=%d", x.path, index) }
		if w := g.call("DELETE", at(x.index+1), ""); w.Code != 409 || code(w) != api.CodeCondition {
			t.Errorf("%s: %d %v %s", x.path, w.Code, w.Header(), w.Body)
		}
		g.wants("DELETE", at(0), "", 400, "never true of what exists")
		g.wants("GET", x.path, "", 200, "ModifyIndex")
		g.wants("DELETE", at(x.index), "", 200, "true")
		g.wants("GET", x.path, "", 404, "does not exist")
		g.wants("DELETE", at(x.index+1), "", 200, "true")
	}
}

func TestWhatIsWrongAboutTokensIsSaid(t *testing.T) {
	g := newGuarded(t).as(root)
	g.made("app", "")
	policy := fmt.Sprintf("%08d-0000-4000-8000-0000000000aa", g.slot-2)
	token := fmt.Sprintf("%08d-0000-4000-8000-0000000000bb", g.slot-2)
	revision := g.state.Revision()
	for _, c := range []struct{ method, target, body, text string }{
		{"PUT", "/v1/acl/policy", `{"Name":"x","Rules":"key \"a\" { policy = \"reed\" }"}`, "reed"},
		{"PUT", "/v1/acl/policy", `{"Name":"a b"}`, "not the name of a policy"},
		{"PUT", "/v1/acl/policy", `{"Name":"p-app"}`, `a policy named "p-app" already`},
		{"PUT", "/v1/acl/policy", `{"Name":"x","ID":"` + policy + `"}`, "cannot be chosen"},
		{"PUT", "/v1/acl/policy", `{"Name":"x","Datacenters":["dc2"]}`, "only dc1"},
		{"PUT", "/v1/acl/policy/" + policy, `{"Name":"x","ID":"` + token + `"}`, "not that of the path"},
		{"PUT", "/v1/acl/policy/" + kv.ManagementPolicy, `{"Name":"x"}`, "cannot be changed"},
		{"DELETE", "/v1/acl/policy/" + kv.ManagementPolicy, "", "cannot be deleted"},
		{"DELETE", "/v1/acl/policy/x", "", "a UUID"},
		{"PUT", "/v1/acl/token", `{"Policies":[{"Name":"nobody"}]}`, "no policy nobody"},
		{"PUT", "/v1/acl/token", `{"Policies":[{}]}`, "needs an ID or a Name"},
		{"PUT", "/v1/acl/token", `{"Policies":[{"Name":"p-app","ID":"` + token + `"}]}`, "another ID"},
		{"PUT", "/v1/acl/token", `{"Roles":[{"Name":"r"}]}`, "Roles"},
		{"PUT", "/v1/acl/token", `{"Namespace":"n"}`, "Namespace"},
		{"PUT", "/v1/acl/token", `{"SecretID":"short"}`, "must be a UUID"},
		{"PUT", "/v1/acl/token", `{"SecretID":"` + root + `"}`, "a token with this secret already"},
		{"PUT", "/v1/acl/token", `{"AccessorID":"` + token + `"}`, "already"},
		{"PUT", "/v1/acl/token", `{"ExpirationTTL":"1ms"}`, "may live from"},
		{"PUT", "/v1/acl/token", `{"ExpirationTTL":"1h","ExpirationTime":"2030-01-01T00:00:00Z"}`, "not both"},
		{"PUT", "/v1/acl/token/" + token, `{"ExpirationTTL":"1h"}`, "expiration of a token cannot be changed"},
		{"PUT", "/v1/acl/token/" + token, `{"SecretID":"` + root + `"}`, "SecretID of a token cannot be changed"},
		{"DELETE", "/v1/acl/token/" + kv.AnonymousToken, "", "anonymous token cannot be deleted"},
		{"GET", "/v1/acl/token/x", "", "a UUID"},
	} {
		g.wants(c.method, c.target, c.body, 400, c.text)
	}
	if g.state.Revision() != revision {
		t.Error("what was refused changed something")
	}
	s := newServer(t, newFake(t))
	for _, target := range []string{"/v1/acl/tokens", "/v1/acl/token/self", "/v1/acl/policies"} {
		if w := call(s, "GET", target, ""); w.Code != 400 || !strings.HasPrefix(w.Body.String(), "ACL support disabled") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// A client that draws ids and secret makes one token, however often it must ask.
func TestATokenIsMadeOnce(t *testing.T) {
	g := newGuarded(t).as(root)
	const body = `{"AccessorID":"11111111-0000-4000-8000-000000000000","SecretID":"22222222-0000-4000-8000-000000000000",
		"ExpirationTTL":"1h"}`
	first := g.call("PUT", "/v1/acl/token", body, "Idempotency-Key: t")
	time.Sleep(2 * time.Millisecond)
	again := g.call("PUT", "/v1/acl/token", body, "Idempotency-Key: t")
	if first.Code != 200 || again.Code != 200 || first.Body.String() != again.Body.String() {
		t.Errorf("%d %s\n%d %s", first.Code, first.Body, again.Code, again.Body)
	}
	for range 2 { // a node that draws the ID draws the same one
		if w := g.call("PUT", "/v1/acl/policy", `{"Name":"once"}`, "Idempotency-Key: p", "X-Tenure-Base: 1"); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// The anonymous token's policies are those of everybody.
func TestTheAnonymousToken(t *testing.T) {
	g := newGuarded(t)
	g.set(t, "open", "1")
	g.made("x", `key "open" { policy = "read" }`)
	g.as(root).wants("PUT", "/v1/acl/token/"+kv.AnonymousToken, `{"Policies":[{"Name":"p-x"}]}`, 200, "p-x")
	g.as("").wants("GET", "/v1/kv/open?raw", "", 200, "1")
	g.as("anonymous").wants("GET", "/v1/kv/open?raw", "", 200, "1")
	g.as("unknown").wants("GET", "/v1/kv/open?raw", "", 403, api.TextUnknownToken)
	g.as("").wants("GET", "/v1/kv/other", "", 403, "anonymous token lacks permission 'key:read' on \"other\"")
}

// As in Consul the query goes before X-Consul-Token, and that before Authorization.
func TestWhereATokenIsLookedFor(t *testing.T) {
	g := newGuarded(t)
	g.set(t, "k", "1")
	bearer, header := "Authorization: Bearer ", "X-Consul-Token: "
	for _, c := range []struct {
		query   string
		headers []string
		status  int
	}{
		{"", nil, 403},
		{"", []string{header + root}, 200},
		{"", []string{bearer + root}, 200},
		{"", []string{"Authorization: bearer " + root}, 200},
		{"", []string{"Authorization: Basic " + root}, 403},
		{"?token=" + root, nil, 200},
		{"?%74oken=" + root, nil, 200},
		{"?raw&token=" + root, []string{header + "wrong"}, 200},
		{"?token=wrong", []string{header + root}, 403},
		{"?token=", []string{header + root}, 200},
		{"", []string{header + "wrong", bearer + root}, 403},
		{"", []string{header + strings.Repeat("x", api.MaxSecretBytes+1)}, 400},
		{"?token=" + root + "&token=wrong", nil, 400},
	} {
		if w := call(g.Server, "GET", "/v1/kv/k"+c.query, "", c.headers...); w.Code != c.status {
			t.Errorf("%s %v: %d %s", c.query, c.headers, w.Code, w.Body)
		}
	}
}

// What may not be read is in no listing, no page and no count, and the answer says that something is missing.
func TestListingsLeaveOutWhatMayNotBeRead(t *testing.T) {
	g := newGuarded(t)
	g.set(t, "a/1", "x", "a/2", "x", "a/b/1", "x", "a/b/2", "x", "a/c/1", "x", "z", "x")
	g.made("app", `key_prefix "a/" { policy = "read" } key "a/1" { policy = "deny" } key_prefix "a/c/" { policy = "deny" }
		key "a/b/1" { policy = "deny" }`)
	g.made("whole", `key_prefix "a/" { policy = "read" }`)
	for _, c := range []struct{ who, target, want, filtered string }{
		{"app", "/v1/kv/?keys", `["a/2","a/b/2"]`, "true"},
		{"app", "/v1/kv/a/?keys&separator=/", `["a/2","a/b/"]`, "true"},
		{"app", "/v1/kv/a/?keys&limit=1", `["a/2"]`, "true"},
		{"app", "/v1/kv/a/?keys&reverse&separator=/", `["a/b/","a/2"]`, "true"},
		{"app", "/v1/kv/a/?keys&start=a/b/2", `["a/b/2"]`, "true"},
		{"app", "/v1/kv/?count", `2`, "true"},
		{"app", "/v1/kv/a/2?keys", `["a/2"]`, ""},
		{"whole", "/v1/kv/a/?count", `5`, ""},
		{"whole", "/v1/kv/?count", `5`, "true"},
		{"whole", "/v1/kv/a/?keys&limit=2", `["a/1","a/2"]`, ""},
	} {
		w := g.as(c.who).call("GET", c.target, "")
		if w.Code != 200 || w.Body.String() != c.want || head(w, api.HeaderFiltered) != c.filtered {
			t.Errorf("%s %s: %d %s %q", c.who, c.target, w.Code, w.Body, head(w, api.HeaderFiltered))
		}
	}
	w := g.as("app").call("GET", "/v1/kv/?recurse", "")
	if text := w.Body.String(); strings.Count(text, `"Key"`) != 2 || !strings.Contains(text, `"a/b/2"`) {
		t.Error(text)
	}
	if w := g.as("app").call("GET", "/v1/kv/a/b/1?recurse", ""); w.Code != 404 || head(w, api.HeaderFiltered) != "true" {
		t.Errorf("all left out: %d %q", w.Code, head(w, api.HeaderFiltered))
	}
	g.wants("GET", "/v1/kv/z?recurse", "", 403, "on anything that begins with")
	// An answer sent in pieces announces hidden keys in its head, before it reaches the first one.
	for n := range 400 {
		g.set(t, fmt.Sprintf("a/b/3/%04d", n), strings.Repeat("v", 100))
	}
	g.set(t, "a/d", "x")
	g.made("late", `key_prefix "a/b/3/" { policy = "read" } key "a/b/3/0399" { policy = "deny" }`)
	w = g.as("late").call("GET", "/v1/kv/a/b/3/?recurse", "")
	if n := strings.Count(w.Body.String(), `"Key"`); w.Code != 200 || n != 399 || head(w, api.HeaderFiltered) != "true" {
		t.Errorf("%d, %d entries, filtered %q", w.Code, n, head(w, api.HeaderFiltered))
	}
}

// Before the feature level of tokens nobody can have one: the upgrade can be finished by anybody, and nothing else.
func TestBelowTheLevelOfTokens(t *testing.T) {
	g := newGuarded(t)
	g.upgrade.FeatureLevel = kv.LevelOfACL - 1
	g.wants("GET", "/v1/upgrade", "", 200, "")
	g.wants("POST", "/v1/upgrade/finish", "", 200, "")
	g.upgrade.FeatureLevel = kv.LevelOfACL
	g.wants("GET", "/v1/upgrade", "", 403, "'operator:read'")
	g.wants("POST", "/v1/upgrade/finish", "", 403, "'operator:write'")
}
