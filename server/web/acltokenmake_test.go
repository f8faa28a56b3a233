package web

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
)

// keyedCall is a call with an idempotency key and a base.
func (g *guarded) keyedCall(method, target, body, key string) *httptest.ResponseRecorder {
	return g.call(method, target, body, api.HeaderIdempotencyKey+": "+key, api.HeaderBase+": 2")
}

func (g *guarded) tokens() (n int) {
	g.state.ACL().Tokens(func(*kv.Token) bool { n++; return true })
	return n
}

// A request that makes a token, sent once more because its answer was lost, gets the token of the first copy with its
// secret, whatever else was changed in between.
func TestARetryThatMakesATokenGetsTheSameOne(t *testing.T) {
	source := func(g *guarded) string {
		g.made("source", `key_prefix "" { policy = "read" }`)
		made, _ := g.state.ACL().TokenOfSecret(kv.HashSecret("source"))
		return made.Accessor
	}
	for name, c := range map[string]struct {
		target, body string
		between      func(g *guarded, source string)
	}{
		"create":                   {"/v1/acl/token", `{"Description":"d"}`, nil},
		"create, with a TTL":       {"/v1/acl/token", `{"ExpirationTTL":"1h"}`, nil},
		"create, with all":         {"/v1/acl/token", `{"Name":"n","Local":true,"Certificate":"c","Policies":[{"Name":"p-source"}]}`, nil},
		"create, with an accessor": {"/v1/acl/token", `{"AccessorID":"00000000-0000-4000-8000-0000000000cc"}`, nil},
		"create, with a secret":    {"/v1/acl/token", `{"SecretID":"00000000-0000-4000-8000-0000000000cc"}`, nil},
		"create, until a time that has come near": {"/v1/acl/token", `{"ExpirationTime":"SOON"}`,
			func(*guarded, string) { time.Sleep(100 * time.Millisecond) }},
		"create, with a policy that has another name now": {"/v1/acl/token", `{"Policies":[{"Name":"p-source"}]}`,
			func(g *guarded, _ string) {
				p, _ := g.state.ACL().PolicyByName("p-source")
				changed := *p
				changed.Name = "other"
				g.fake.apply(g.t, kv.PutPolicy(changed, false))
			}},
		"clone":              {"clone", ``, nil},
		"clone, with a text": {"clone", `{"Description":"twin"}`, nil},
		"clone of a changed token": {"clone", ``, func(g *guarded, source string) {
			g.fake.apply(g.t, kv.PutToken(kv.Token{Accessor: source, Description: "changed"}, false))
		}},
		"clone of a deleted token": {"clone", ``, func(g *guarded, source string) { g.fake.apply(g.t, kv.DropToken(source)) }},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuarded(t).as(root)
			source, target := source(g), c.target
			if target == "clone" {
				target = "/v1/acl/token/" + source + "/clone"
			}
			soon := time.Now().Add(api.MinTokenTTL + 80*time.Millisecond)
			body := strings.Replace(c.body, "SOON", soon.Format(time.RFC3339Nano), 1)
			var made, again api.Token
			first := g.keyedCall("PUT", target, body, "w")
			if first.Code != 200 || json.Unmarshal(first.Body.Bytes(), &made) != nil {
				t.Fatalf("%d %s", first.Code, first.Body)
			}
			if c.between != nil {
				c.between(g, source)
			}
			tokens := g.tokens()
			second := g.keyedCall("PUT", target, body, "w")
			if second.Code != 200 || json.Unmarshal(second.Body.Bytes(), &again) != nil {
				t.Fatalf("once more: %d %s %s", second.Code, code(second), second.Body)
			}
			if again.AccessorID != made.AccessorID || again.SecretID != made.SecretID || g.tokens() != tokens {
				t.Errorf("%+v, and once more %+v; %d tokens, and %d", made, again, tokens, g.tokens())
			}
			if kept, _ := g.state.ACL().Token(made.AccessorID); kept.Secret != kv.HashSecret(made.SecretID) {
				t.Error("the secret is not that of the token")
			}
		})
	}
}

// The secret of a new token follows from the secret of who makes it, from the key and from the base, and from nothing
// less.
func TestWhatTheSecretOfATokenFollowsFrom(t *testing.T) {
	seen := map[string]string{}
	for _, c := range []struct{ who, key, base string }{{root, "w", "2"}, {root, "v", "2"}, {root, "w", "1"}, {"other", "w", "2"}} {
		g := newGuarded(t)
		g.made("other", `acl = "write"`)
		var made api.Token
		w := g.as(c.who).call("PUT", "/v1/acl/token", "{}", api.HeaderIdempotencyKey+": "+c.key, api.HeaderBase+": "+c.base)
		if w.Code != 200 || json.Unmarshal(w.Body.Bytes(), &made) != nil {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if before, there := seen[made.SecretID]; there {
			t.Errorf("%v has the secret of %s", c, before)
		}
		seen[made.SecretID] = fmt.Sprint(c)
		// Somebody else who knows key, base and body is told nothing, and makes nothing.
		tokens := g.tokens()
		g.made("stranger", `acl = "write"`)
		again := g.as("stranger").call("PUT", "/v1/acl/token", "{}", api.HeaderIdempotencyKey+": "+c.key, api.HeaderBase+": "+c.base)
		if again.Code != 409 || code(again) != api.CodeKeyReused || strings.Contains(again.Body.String(), made.SecretID) ||
			g.tokens() != tokens+1 {
			t.Errorf("%d %s", again.Code, again.Body)
		}
	}
}

// Under an idempotency key a node makes no secret that a retry could not have again, or that somebody else could have.
func TestSecretsThatAreNotMadeUnderAKey(t *testing.T) {
	g := newGuarded(t)
	g.fake.apply(t, kv.PutToken(kv.Token{Accessor: kv.AnonymousToken, Policies: []string{kv.ManagementPolicy}}, false))
	other := g.made("other", `acl = "write"`)
	tokens := g.tokens()
	for _, secret := range []string{"", "anonymous"} {
		g.as(secret)
		for _, target := range []string{"/v1/acl/token", "/v1/acl/token/" + other + "/clone"} {
			w := g.keyedCall("PUT", target, "{}", "w")
			if w.Code != 400 || !strings.Contains(w.Body.String(), "send SecretID and AccessorID") {
				t.Errorf("%q, %s: %d %s", secret, target, w.Code, w.Body)
			}
		}
	}
	w := g.as(root).call("PUT", "/v1/acl/token", "{}", api.HeaderIdempotencyKey+": w")
	if w.Code != 400 || !strings.Contains(w.Body.String(), api.HeaderBase) {
		t.Errorf("without a base: %d %s", w.Code, w.Body)
	}
	if g.tokens() != tokens {
		t.Error("a token was made")
	}
	for range 2 {
		w := g.as("").keyedCall("PUT", "/v1/acl/token", `{"SecretID":"00000000-0000-4000-8000-0000000000cc"}`, "given")
		if w.Code != 200 || g.tokens() != tokens+1 {
			t.Errorf("with a secret: %d %s, %d tokens", w.Code, w.Body, g.tokens())
		}
	}
}

// The first token has nobody's secret to follow from.
func TestABootstrapUnderAKeyNeedsASecret(t *testing.T) {
	g := newGuardedBeforeBootstrap(t)
	key, base := api.HeaderIdempotencyKey+": w", api.HeaderBase+": 1"
	if w := g.call("PUT", "/v1/acl/bootstrap", "", key, base); w.Code != 400 ||
		!strings.Contains(w.Body.String(), "send a BootstrapSecret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for range 2 {
		if w := g.call("PUT", "/v1/acl/bootstrap", `{"BootstrapSecret":"`+root+`"}`, key, base); w.Code != 200 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// A change of a token or a policy, sent once more, gets the answer of the first copy, also if what it changed has been
// changed again or deleted.
func TestARetriedChangeOfATokenOrAPolicy(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		g := newGuarded(t).as(root)
		accessor := g.made("t", `key "k" { policy = "read" }`)
		p, _ := g.state.ACL().PolicyByName("p-t")
		for target, change := range map[string]struct {
			body  string
			again kv.Command
			drop  kv.Command
		}{
			"/v1/acl/token/" + accessor: {`{"Description":"new"}`,
				kv.PutToken(kv.Token{Accessor: accessor, Certificate: "c"}, false), kv.DropToken(accessor)},
			"/v1/acl/policy/" + p.ID: {`{"Name":"p-t","Rules":""}`,
				kv.PutPolicy(kv.Policy{ID: p.ID, Name: "newer"}, false), kv.DropPolicy(p.ID)},
		} {
			if w := g.keyedCall("PUT", target, change.body, target[:14]); w.Code != 200 {
				t.Fatalf("%s: %d %s", target, w.Code, w.Body)
			}
			if g.fake.apply(t, change.again); deleted {
				g.fake.apply(t, change.drop)
			}
			revision := g.state.Revision()
			w := g.keyedCall("PUT", target, change.body, target[:14])
			if w.Code != 200 || g.state.Revision() != revision {
				t.Errorf("deleted %v, %s: %d %s", deleted, target, w.Code, w.Body)
			}
		}
		if w := g.keyedCall("PUT", "/v1/acl/token/"+g.made("u", "")[:35]+"f", "{}", "none"); w.Code == 200 {
			t.Errorf("a token that never was: %d %s", w.Code, w.Body)
		}
	}
}

// A clone is allowed what the other token is, and ends when that ends. A certificate stands for one of them.
func TestWhatACloneHas(t *testing.T) {
	g := newGuarded(t).as(root)
	var policy api.Policy
	g.decoded("PUT", "/v1/acl/policy", `{"Name":"app","Rules":"key \"k\" { policy = \"read\" }"}`, &policy)
	var made, clone, second api.Token
	g.decoded("PUT", "/v1/acl/token", `{"Description":"d","Name":"n","Policies":[{"Name":"app"}],"Local":true,"Certificate":"c",
		"ExpirationTTL":"1h"}`, &made)
	g.decoded("PUT", "/v1/acl/token/"+made.AccessorID+"/clone", "", &clone)
	g.decoded("PUT", "/v1/acl/token/"+clone.AccessorID+"/clone", `{"Description":"e"}`, &second)
	for text, c := range map[string]api.Token{"d": clone, "e": second} {
		if c.ExpirationTime == nil || !c.ExpirationTime.Equal(*made.ExpirationTime) || c.Description != text || c.Name != "n" ||
			!c.Local || c.Certificate != "" || len(c.Policies) != 1 || c.Policies[0].ID != policy.ID {
			t.Errorf("%+v", c)
		}
		kept, _ := g.state.ACL().Token(c.AccessorID)
		if left := time.Until(*made.ExpirationTime); kept.TTL < left || kept.TTL > left+time.Minute {
			t.Errorf("the master deletes it after %v", kept.TTL)
		}
	}
	g.decoded("PUT", "/v1/acl/token", `{}`, &made)
	clone = api.Token{}
	if g.decoded("PUT", "/v1/acl/token/"+made.AccessorID+"/clone", "", &clone); clone.ExpirationTime != nil {
		t.Errorf("%+v", clone)
	}
	g.decoded("PUT", "/v1/acl/token", `{"ExpirationTTL":"1s"}`, &made)
	time.Sleep(2 * time.Millisecond)
	g.wants("PUT", "/v1/acl/token/"+made.AccessorID+"/clone", "", 400, "expires in less than 1s")
}
