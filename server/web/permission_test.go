package web

import (
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// bodiesOfAll are bodies with which each route would do something.
var bodiesOfAll = map[string]string{
	"PUT /v1/kv/{key}":              "v",
	"POST /v1/kv/{key}":             `{"Op":"add","Num":1}`,
	"PUT /v1/txn":                   `[{"KV":{"Verb":"set","Key":"k","Value":"dg=="}}]`,
	"PUT /v1/session/create":        `{"Node":"n"}`,
	"PUT /v1/quota/{prefix}":        `{"bytes":1}`,
	"POST /v1/lease/{name}/acquire": `{"Owner":"o","TTL":"1s"}`,
	"POST /v1/lease/{name}/renew":   `{"Owner":"o","Grant":"GRANT"}`,
	"POST /v1/lease/{name}/release": `{"Owner":"o","Acquisition":"a"}`,
	"POST /v1/leases/renew":         `[{"Name":"n","Owner":"o","Grant":"GRANT"}]`,
	"POST /v1/master/transfer":      `{}`,
	"POST /v1/members/add": `{"name":"n","peer_address":"h:1","client_address":"h:2",
		"store":"0123456789abcdef0123456789abcdef"}`,
	"POST /v1/members/remove":      `{"node":1}`,
	"POST /v1/members/replace":     `{"node":1}`,
	"POST /v1/members/promote":     `{"node":1}`,
	"POST /v1/members/update":      `{"node":1,"name":"n"}`,
	"POST /v1/members/readmit":     `{"name":"n"}`,
	"POST /v1/members/cancel":      `{"operation":"o"}`,
	"POST /v1/members/drain":       `{"node":1}`,
	"POST /v1/acl/uses":            `["99999999-0000-4000-8000-0000000000bb"]`,
	"PUT /v1/acl/token":            `{"Description":"d"}`,
	"PUT /v1/acl/token/{id}":       `{"Description":"d"}`,
	"PUT /v1/acl/policy":           `{"Name":"new"}`,
	"PUT /v1/acl/policy/{id}":      `{"Name":"changed"}`,
	"PUT /v1/acl/token/{id}/clone": `{}`,
}

// forEverybody are the routes that need no permission, with the reason.
var forEverybody = map[string]string{
	"GET /health/live":                "watchdogs have no token",
	"GET /health/ready":               "likewise",
	"GET /v1/status":                  "it says no keys, and clients find the master by it",
	"GET /v1/history":                 "it says no keys, and only how many requests there are",
	"GET /v1/reports":                 "each member says the same in its status",
	"GET /v1/status/leader":           "as in Consul",
	"GET /v1/status/peers":            "as in Consul",
	"GET /v1/openapi.json":            "it is the same for all clusters",
	"PUT /v1/acl/bootstrap":           "the state allows it once",
	"GET /v1/acl/token/self":          "one's own token, if there is one",
	"GET /ui":                         "it leads to the next",
	"GET /ui/{file}":                  "files that are the same for all clusters",
	"PUT /v1/acl/bootstrap 2":         "",
	"GET /v1/acl/token/self 2":        "",
	"POST /v1/internal/acl/authorize": "about the client's own token",
}

// walked is what a walk asks a route for.
type walked struct{ at, method, target, body string }

// walk returns a request for each route and method, about things that exist.
func (g *guarded) walk(t *testing.T) (list []walked) {
	const session, policy = "11111111-0000-4000-8000-000000000000", "99999999-0000-4000-8000-0000000000aa"
	const token = "99999999-0000-4000-8000-0000000000bb"
	g.fake.apply(t, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: session, Node: "n"}})
	g.fake.apply(t, kv.PutPolicy(kv.Policy{ID: policy, Name: "walked"}, true))
	g.fake.apply(t, kv.PutToken(kv.Token{Accessor: token, Secret: kv.HashSecret("walked")}, true))
	g.set(t, "k", "1")
	g.restoreResult = kv.Result{Code: kv.CodeDone}
	g.hint = service.LeaseHint{Owner: "o", Token: 4, Left: time.Second}
	grant := grantOf("n", "o")
	for _, e := range g.routes {
		path := strings.NewReplacer("acl/token/{id}", "acl/token/"+token, "acl/policy/{id}", "acl/policy/"+policy,
			"acl/policy/name/{name}", "acl/policy/name/walked", "fence/{name}", "fence/lease/n").Replace(e.path)
		path = strings.NewReplacer("{key}", "k", "{id}", session, "{node}", "n", "{name}", "n", "{prefix}", "k").
			Replace(path)
		if e.path == keysPath {
			path += "?recurse"
		}
		for method := range e.handlers {
			if e.path == keysPath && (method == "PUT" || method == "POST") {
				continue // no key is named, whoever asks
			}
			at := method + " " + e.path
			list = append(list, walked{at, method, path, strings.Replace(bodiesOfAll[at], "GRANT", grant, 1)})
		}
	}
	return list
}

// CVE-2026-33413: a route without a check. The test calls each route with each method, without a token, with a token
// without the permission, with a deleted token, and with a token for everything.
func TestNoRouteIsWithoutADecision(t *testing.T) {
	for _, who := range []string{"", "weak", "gone"} {
		g := newGuarded(t)
		g.EndWaits()
		g.made("weak", `key "other" { policy = "read" } session "other" { policy = "read" }
			lease "other" { policy = "write" } agent "other" { policy = "read" }`)
		g.fake.apply(t, kv.DropToken(g.made("gone", `key_prefix "" { policy = "write" }`)))
		for _, r := range g.walk(t) {
			if forEverybody[r.at] != "" && (who != "gone" || !strings.Contains(r.at, "/acl/")) {
				continue
			}
			before, revision := g.reached(), g.state.Revision()
			g.backup = newFakeBackup(1, 1, io.EOF)
			w := g.as(who).call(r.method, r.target, r.body)
			if r.at == "GET /v1/leases" && who == "weak" || r.at == "POST /v1/leases/renew" && who == "weak" ||
				r.at == "GET /v1/watch" && who == "weak" || r.at == "GET /v1/session/list" && who == "weak" ||
				r.at == "GET "+keysPath && who == "weak" ||
				strings.HasPrefix(r.at, "GET /v1/session/info") && who == "weak" {
				// Something of the kind may be read: the rest is left out.
				if strings.Contains(w.Body.String(), `"n"`) && code(w) == "" && !strings.Contains(w.Body.String(), "denied") {
					t.Errorf("%s of %s: %s", r.at, who, w.Body)
				}
			} else if !denied(w) {
				t.Errorf("%s with token %q: %d %s", r.at, who, w.Code, w.Body)
			}
			if g.reached() != before || g.state.Revision() != revision {
				t.Errorf("%s with token %q reached the store: %s after %s", r.at, who, g.reached(), before)
			}
		}
	}
	g := newGuarded(t)
	g.EndWaits()
	for _, r := range g.walk(t) {
		g.backup = newFakeBackup(1, 1, io.EOF)
		if w := g.as(root).call(r.method, r.target, r.body); w.Code == 403 && r.at != "PUT /v1/acl/bootstrap" ||
			code(w) == api.CodeInternal {
			t.Errorf("%s with the first token: %d %s", r.at, w.Code, w.Body)
		}
	}
}

// A handler that answers, or touches the store, without a decision panics instead.
func TestAnAnswerWithoutADecisionPanics(t *testing.T) {
	g := newGuarded(t)
	g.fake.set(t, "k", "secret")
	h := newHandlers(g.cfg, g.service, g.metrics, g.waits, g.Addr)
	d := g.newDispatcher()
	answer := func(by handler, w *httptest.ResponseRecorder) {
		r := httptest.NewRequest("GET", "http://127.0.0.1/x", nil)
		r.Header.Set(api.HeaderToken, root)
		d.handle(newEndpoint("test", map[string]handler{"GET": by}, g.metrics)).ServeHTTP(w, r)
	}
	w := httptest.NewRecorder()
	if answer(func(x *exchange) error { x.req.NeedsNothing(); x.json(bodyTrue); return nil }, w); w.Code != 200 {
		t.Fatalf("with a decision: %d %s", w.Code, w.Body)
	}
	for name, forgetful := range map[string]handler{
		"JSON":      func(x *exchange) error { x.json(bodyTrue); return nil },
		"text":      func(x *exchange) error { x.text("secret"); return nil },
		"a 404":     func(x *exchange) error { x.absent(1, service.ReadMeta{}); return nil },
		"a get":     func(x *exchange) error { _, _, _, err := readKey(x, "k", service.Default); return err },
		"a list":    func(x *exchange) error { _, _, err := readView(x, service.Default); return err },
		"a session": func(x *exchange) error { return h.session.writes.run(x, kv.Command{Op: kv.OpSessionRenew}) },
		"an unknown command": func(x *exchange) error {
			x.req.NeedsNothing()
			return h.kv.writes.run(x, kv.Command{Op: kv.OpEndKey})
		},
		"a streamed list": func(x *exchange) error {
			l := newList(x, 1, service.ReadMeta{}, false)
			l.key("secret")
			return l.end(nil)
		},
	} {
		w := httptest.NewRecorder()
		answer(forgetful, w)
		if w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// CVE-2026-33343: the parts of a transaction. Every verb is decided, whichever place it has.
func TestPartsOfTransactionsAreDecided(t *testing.T) {
	g := newGuarded(t)
	g.set(t, "mine/a", "1", "theirs", "2")
	g.made("app", `key_prefix "mine/" { policy = "write" }`)
	for verb, v := range verbs {
		op := fmt.Sprintf(`{"KV":{"Verb":%q,"Key":"theirs","NewKey":"mine/b","Session":"x"}}`, verb)
		if v.op != kv.OpRename {
			op = strings.Replace(op, `,"NewKey":"mine/b"`, "", 1)
		}
		for place, body := range []string{op + "," + own, own + "," + op} {
			w := g.as("app").call("PUT", "/v1/txn", "["+body+"]")
			want := fmt.Sprintf(`{"Results":null,"Errors":[{"OpIndex":%d,"What":"Permission denied: token with `, place)
			if w.Code != 409 || code(w) != api.CodeDenied || !strings.HasPrefix(w.Body.String(), want) {
				t.Errorf("%s in place %d: %d %s", verb, place, w.Code, w.Body)
			}
		}
	}
	into := `[{"KV":{"Verb":"rename","Key":"mine/a","NewKey":"theirs"}}]`
	if w := g.as("app").call("PUT", "/v1/txn", into); !denied(w) {
		t.Errorf("renamed into what is another's: %d %s", w.Code, w.Body)
	}
	// Of a fence, or of a token that there is not, no operation is to blame.
	if w := g.as("app").call("PUT", "/v1/txn?fence=kv/theirs:7", "["+own+"]"); w.Code != 403 || !denied(w) {
		t.Errorf("under the fence of others: %d %s", w.Code, w.Body)
	}
	if w := g.as("nobody").call("PUT", "/v1/txn", "["+own+"]"); w.Code != 403 || !denied(w) {
		t.Errorf("with a token that there is not: %d %s", w.Code, w.Body)
	}
	if g.value("theirs") != "2" || g.value("mine/x") != "-" {
		t.Error("a transaction that was denied changed something")
	}
	g.as("app").wants("PUT", "/v1/txn", "["+own+"]", 200, `"mine/x"`)
}

const own = `{"KV":{"Verb":"set","Key":"mine/x","Value":"dg=="}}`

// CVE-2026-44283: old values, and what is beside the keys that a request names.
func TestOldValuesAreDecided(t *testing.T) {
	g := newGuarded(t)
	g.set(t, "mine/a", "1", "mine/hidden", "old value", "theirs", "old value")
	g.made("app", `key_prefix "mine/" { policy = "write" } key "mine/hidden" { policy = "deny" }
		key "theirs" { policy = "read" } session_prefix "" { policy = "write" }`)
	for _, key := range []string{"mine/hidden", "theirs"} {
		for _, body := range []string{`{"Op":"add","Num":1}`, `{"Op":"remove"}`, `{"Op":"expire","TTL":"1h"}`,
			`{"Op":"test-and-set","Test":"b2xk","Value":"bmV3"}`, `{"Op":"rename","NewKey":"mine/b"}`} {
			if w := g.as("app").call("POST", "/v1/kv/"+key, body); !denied(w) ||
				strings.Contains(w.Body.String(), "old value") {
				t.Errorf("%s of %s: %d %s", body, key, w.Code, w.Body)
			}
		}
		for _, target := range []string{"?cas=1", "?acquire=11111111-0000-4000-8000-000000000000", "?fence=kv/x:1"} {
			if w := g.as("app").call("PUT", "/v1/kv/"+key+target, "new"); !denied(w) {
				t.Errorf("PUT %s%s: %d %s", key, target, w.Code, w.Body)
			}
		}
		if w := g.as("app").call("DELETE", "/v1/kv/"+key, ""); !denied(w) {
			t.Errorf("DELETE %s: %d %s", key, w.Code, w.Body)
		}
	}
	for _, target := range []string{"/v1/kv/mine/?recurse", "/v1/kv/?recurse"} { // what is below may not be deleted
		if w := g.as("app").call("DELETE", target, ""); !denied(w) {
			t.Errorf("DELETE %s: %d %s", target, w.Code, w.Body)
		}
	}
	for prefix, want := range map[string]bool{"mine/": false, "": false, "mine/a": true} { // below it something is hidden
		w := g.as("app").call("PUT", "/v1/txn", `[{"KV":{"Verb":"get-tree","Key":"`+prefix+`"}}]`)
		if denied(w) == want || (w.Code == 200) != want {
			t.Errorf("the tree of %q: %d %s", prefix, w.Code, w.Body)
		}
	}
	if g.value("mine/hidden") != "old value" || g.value("theirs") != "old value" {
		t.Error("what was denied changed something")
	}
}

// A fence can keep others from writing: it needs what its name says.
func TestFencesAreDecided(t *testing.T) {
	g := newGuarded(t)
	g.made("app", `key_prefix "mine/" { policy = "write" } lease "mine" { policy = "write" } lease "seen" { policy = "read" }`)
	for fence, want := range map[string]bool{"kv/mine/x": true, "kv/theirs": false, "lease/mine": true,
		"lease/seen": false, "lease/theirs": false} {
		if w := g.as("app").call("PUT", "/v1/kv/mine/a?fence="+fence+":7", "v"); denied(w) == want {
			t.Errorf("a write under %s: %d %s", fence, w.Code, w.Body)
		}
		if w := g.as("app").call("GET", "/v1/fence/"+fence, ""); denied(w) == (want || fence == "lease/seen") {
			t.Errorf("GET %s: %d %s", fence, w.Code, w.Body)
		}
	}
}

// A dropped fence raises the floor of all others: who may use one fence must not end the writes under those of others. An
// operator can set the floor again.
func TestDroppingAFenceIsNotForWhoUsesIt(t *testing.T) {
	g := newGuarded(t)
	g.made("evil", `key_prefix "evil/" { policy = "write" } lease_prefix "evil/" { policy = "write" } operator = "write"`)
	g.made("keys", `key_prefix "" { policy = "write" }`)
	g.made("leases", `lease_prefix "" { policy = "write" }`)
	g.made("hole", `key_prefix "" { policy = "write" } key "theirs" { policy = "read" }`)
	const most = ":18446744073709551615"
	for _, kind := range []string{"kv/", "lease/"} {
		g.as("evil").wants("PUT", "/v1/kv/evil/a?fence="+kind+"evil/f"+most, "v", 200, "true")
		g.wants("DELETE", "/v1/fence/"+kind+"evil/f", "", 403, "on every")
		g.as(root).wants("PUT", "/v1/kv/app?fence="+kind+"app:6", "v", 200, "true")
	}
	g.as("hole").wants("DELETE", "/v1/fence/kv/evil/f", "", 403, "'key:write' on every key")
	g.as("leases").wants("DELETE", "/v1/fence/kv/evil/f", "", 403, "'key:write'")
	g.as("keys").wants("DELETE", "/v1/fence/lease/evil/f", "", 403, "'lease:write'")
	g.wants("DELETE", "/v1/fence/kv/evil/f?floor=5", "", 403, "'operator:write'")
	g.wants("DELETE", "/v1/fence/kv/evil/f", "", 200, "true")
	g.as("leases").wants("DELETE", "/v1/fence/lease/evil/f", "", 200, "true")
	g.as(root).wants("PUT", "/v1/kv/app?fence=kv/new:6", "v", 409, "fenced")
	g.as(root).wants("DELETE", "/v1/fence/kv/evil/f?floor=5", "", 200, "true")
	g.wants("PUT", "/v1/kv/app?fence=kv/new:6", "v", 200, "true")
	g.wants("PUT", "/v1/kv/app?fence=kv/old:4", "v", 409, "fenced")
	g.wants("DELETE", "/v1/fence/kv/evil/f?floor=x", "", 400, "must be a number")
}

// An upload replaces keys and sessions, and raises the fences of keys and leases.
func TestAnUploadNeedsWhatItReplaces(t *testing.T) {
	g := newGuarded(t)
	rules := []string{`operator = "write"`, `key_prefix "" { policy = "write" }`, `session_prefix "" { policy = "write" }`,
		`lease_prefix "" { policy = "write" }`}
	for i, kind := range []string{"operator", "key", "session", "lease"} {
		g.made(kind, strings.Join(slices.Concat(rules[:i], rules[i+1:]), "\n"))
		g.as(kind).wants("PUT", "/v1/snapshot", "no snapshot", 403, "'"+kind+":write'")
	}
	g.made("all", strings.Join(rules, "\n"))
	if w := g.as("all").call("PUT", "/v1/snapshot", "no snapshot"); denied(w) {
		t.Errorf("with all of it: %d %s", w.Code, w.Body)
	}
}

// CVE-2025-11392: policy and store see the same bytes, however a key is spelt.
func TestPolicyAndStoreSeeTheSameBytes(t *testing.T) {
	g := newGuarded(t)
	g.set(t, "theirs", "1", "theirs/a", "1")
	g.made("app", `key_prefix "mine/" { policy = "write" }`)
	for _, spelt := range []string{"theirs", "%74heirs", "theirs%2Fa", "theirs/a", "mine", "%6dine", "/mine/a", "MINE/a",
		"mine%5Ca", "./mine/a", "x/../mine/a", "%2Fmine/a", "mine%252Fa", "mine%00/a", "", "%20mine/a"} {
		g.fake.last = kv.Command{}
		if w := g.as("app").call("PUT", "/v1/kv/"+spelt, "2"); w.Code == 200 || g.fake.last.Key != "" {
			t.Errorf("%q wrote %q: %d %s", spelt, g.fake.last.Key, w.Code, w.Body)
		}
		if w := g.as("app").call("GET", "/v1/kv/"+spelt, ""); w.Code == 200 {
			t.Errorf("%q was read: %s", spelt, w.Body)
		}
	}
	for spelt, key := range map[string]string{"mine%2Fa": "mine/a", "mine/../theirs": "mine/../theirs",
		"mine/%2e%2e/theirs": "mine/../theirs", "mine//theirs": "mine//theirs", "mine/%2F..%2Ftheirs": "mine//../theirs",
		"mine/%252e": "mine/%2e"} {
		w := g.as("app").call("PUT", "/v1/kv/"+spelt, "2")
		if w.Code != 200 || g.fake.last.Key != key || g.value(key) != "2" {
			t.Errorf("%q wrote %q: %d %s", spelt, g.fake.last.Key, w.Code, w.Body)
		}
	}
	if g.value("theirs") != "1" || g.value("theirs/a") != "1" {
		t.Error("another's key was written")
	}
}

// CVE-2023-32082: the names of keys and owners, by leases and sessions.
func TestLeasesAndSessionsTellNothingOfOthers(t *testing.T) {
	g := newGuarded(t)
	g.set(t, "mine", "1", "theirs", "1")
	const session = "11111111-0000-4000-8000-000000000000"
	g.fake.apply(t, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: session, Node: "n"}})
	g.fake.apply(t, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: strings.ReplaceAll(session, "1", "2"), Node: "m"}})
	for _, key := range []string{"mine", "theirs"} {
		g.fake.apply(t, kv.Command{Op: kv.OpSet, Key: key, Lock: kv.LockAcquire, Session: kv.Session{ID: session}})
	}
	g.leaseList = service.LeaseList{Leases: []service.NamedHint{{Name: "mine", LeaseHint: service.LeaseHint{Owner: "me"}}, {Name: "theirs", LeaseHint: service.LeaseHint{Owner: "owner of theirs"}}}}
	g.leaseErr = &service.LeaseBusyError{Owner: "owner of theirs"}
	g.hint = service.LeaseHint{Owner: "owner of theirs", Token: 4}
	g.made("app", `key "mine" { policy = "read" } lease "mine" { policy = "read" } session "n" { policy = "read" }`)
	for _, r := range []walked{{method: "GET", target: "/v1/lease/theirs"},
		{method: "POST", target: "/v1/lease/theirs/acquire", body: bodiesOfAll["POST /v1/lease/{name}/acquire"]},
		{method: "POST", target: "/v1/lease/mine/acquire", body: bodiesOfAll["POST /v1/lease/{name}/acquire"]}} {
		if w := g.as("app").call(r.method, r.target, r.body); !denied(w) || strings.Contains(w.Body.String(), "owner of") {
			t.Errorf("%s %s: %d %s", r.method, r.target, w.Code, w.Body)
		}
	}
	if len(g.leases) != 0 {
		t.Errorf("%d requests for leases came through", len(g.leases))
	}
	g.leaseErr = nil
	if w := g.as("app").call("GET", "/v1/leases", ""); w.Code != 200 || strings.Contains(w.Body.String(), "theirs") ||
		!strings.Contains(w.Body.String(), `"mine"`) || head(w, api.HeaderFiltered) != "true" {
		t.Errorf("the list of leases: %d %s", w.Code, w.Body)
	}
	for _, target := range []string{"/v1/session/list?details", "/v1/session/node/n?details", "/v1/session/info/" + session + "?details"} {
		w := g.as("app").call("GET", target, "")
		if text := w.Body.String(); w.Code != 200 || !strings.Contains(text, `"Held":1,"Keys":["mine"]`) ||
			strings.Contains(text, "theirs") || strings.Contains(text, "2222") || head(w, api.HeaderFiltered) != "true" {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	for _, target := range []string{"/v1/session/destroy/", "/v1/session/renew/"} {
		if w := g.as("app").call("PUT", target+session, ""); !denied(w) {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	// A missing session needs no permission, and no command is sent, which could meet a session made meanwhile.
	writes := g.writes
	g.as("app").wants("PUT", "/v1/session/destroy/"+strings.ReplaceAll(session, "1", "3"), "", 200, "true")
	g.as("app").wants("PUT", "/v1/session/renew/"+strings.ReplaceAll(session, "1", "3"), "", 404, "not found")
	if g.writes != writes {
		t.Error("a command about a session that there is not was sent")
	}
}

// Each renewal of many is decided by itself.
func TestRenewalsAreDecidedOneByOne(t *testing.T) {
	g := newGuarded(t)
	g.made("app", `lease "mine" { policy = "write" }`)
	body := fmt.Sprintf(`[{"Name":"theirs","Owner":"o","Grant":%q},{"Name":"mine","Owner":"o","Grant":%q}]`,
		grantOf("theirs", "o"), grantOf("mine", "o"))
	w := g.as("app").call("POST", "/v1/leases/renew", body)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"Code":"denied"`) || len(g.leases) != 1 || g.leases[0].Name != "mine" {
		t.Errorf("%d %s, %+v", w.Code, w.Body, g.leases)
	}
}

// A client that may not read a session does not learn its node. A client that may read no session does not even learn
// whether the session exists.
func TestSessionsOfOthersTellNoNode(t *testing.T) {
	const session = "11111111-0000-4000-8000-000000000000"
	unknown := strings.ReplaceAll(session, "1", "3")
	g := newGuarded(t)
	g.fake.apply(t, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: session, Node: "hidden"}})
	g.made("mine", `session "mine" { policy = "write" }`)
	for _, path := range []string{"/v1/session/destroy/", "/v1/session/renew/"} {
		there, none := g.as("").call("PUT", path+session, ""), g.as("").call("PUT", path+unknown, "")
		if !denied(there) || there.Code != none.Code || there.Body.String() != none.Body.String() {
			t.Errorf("%s: of a session %d %s, of none %d %s", path, there.Code, there.Body, none.Code, none.Body)
		}
		if w := g.as("mine").call("PUT", path+session, ""); !denied(w) || strings.Contains(w.Body.String(), "hidden") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// The prefixes of quotas, and how much is used of them, are for operators.
func TestQuotasAreForOperators(t *testing.T) {
	g := newGuarded(t)
	quota := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tenure_quota_bytes", Help: "h"}, []string{"prefix"})
	quota.WithLabelValues("secret/").Set(7)
	g.cfg.Registry.MustRegister(quota)
	g.made("watcher", `agent_prefix "" { policy = "read" } key_prefix "" { policy = "write" }`)
	g.made("operator", `agent_prefix "" { policy = "read" } key_prefix "" { policy = "write" } operator = "read"`)
	g.fake.apply(t, kv.Command{Op: kv.OpLevel, Num: kv.NewestLevel})
	g.as(root).wants("PUT", "/v1/quota/secret%2F", `{"bytes":100}`, 200, "")
	for who, told := range map[string]bool{"watcher": false, "operator": true} {
		if w := g.as(who).call("GET", "/metrics", ""); w.Code != 200 || strings.Contains(w.Body.String(), "secret/") != told {
			t.Errorf("metrics of %s: %d, told: %t", who, w.Code, !told)
		}
		w := g.as(who).call("PUT", "/v1/kv/secret/k", strings.Repeat("x", 200))
		if w.Code != 507 || strings.Contains(w.Body.String(), "100 bytes") != told {
			t.Errorf("507 of %s: %d %s", who, w.Code, w.Body)
		}
	}
}
