package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// create makes a session and returns its ID.
func create(t *testing.T, s *Server, body string, headers ...string) string {
	t.Helper()
	w := call(s, "PUT", "/v1/session/create", body, headers...)
	var out struct{ ID string }
	if err := json.Unmarshal(w.Body.Bytes(), &out); w.Code != 200 || err != nil || kv.ValidateSessionID(out.ID) != nil {
		t.Fatalf("create %s: %d %s", body, w.Code, w.Body)
	}
	return out.ID
}

func TestCreateSession(t *testing.T) {
	def := kv.Session{Node: "node-3", LockDelay: 15 * time.Second}
	with := func(change func(*kv.Session)) kv.Session { s := def; change(&s); return s }
	for body, want := range map[string]kv.Session{
		"":     def,
		"{}":   def,
		"null": def,
		`{"Name":"n","Node":"elsewhere","TTL":"10s","Behavior":"delete","LockDelay":"1m"}`: {Name: "n", Node: "elsewhere", TTL: 10 * time.Second, Behavior: kv.Delete, LockDelay: time.Minute},
		`{"name":"n","ttl":"24h","behavior":"release","lockdelay":"0.001s","checks":[]}`:   {Name: "n", Node: "node-3", TTL: 24 * time.Hour, LockDelay: time.Millisecond},
		`{"LOCKDELAY":5}`:                    with(func(s *kv.Session) { s.LockDelay = 5 * time.Second }),
		`{"LockDelay":0}`:                    with(func(s *kv.Session) { s.LockDelay = 0 }),
		`{"LockDelay":"0s"}`:                 with(func(s *kv.Session) { s.LockDelay = 0 }),
		`{"LockDelay":1500000}`:              with(func(s *kv.Session) { s.LockDelay = 1500 * time.Microsecond }),
		`{"LockDelay":15000000000}`:          def,
		`{"LockDelay":"15000ms","TTL":"0s"}`: def,
		`{"Node":"","Checks":["serfHealth"],"NodeChecks":["serfHealth"],"ServiceChecks":null,"ID":"x"}`:        def,
		`{"ID":"","CreateIndex":7,"ModifyIndex":0,"Namespace":"","namespace":"default","Partition":"default"}`: def,
	} {
		f := newFake(t)
		f.status.Node = 3
		s := newServer(t, f)
		id := create(t, s, body)
		want.ID, want.CreateIndex, want.ModifyIndex = id, 2, 2
		got, _ := f.state.Session(id)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", body, d)
		}
	}
}

// The shortest TTL is what the configuration says.
func TestShortestSession(t *testing.T) {
	s := newServer(t, newFake(t), func(c *Config) { c.SessionTTLMin = 2 * time.Second })
	create(t, s, `{"TTL":"2s"}`)
	create(t, s, `{"TTL":"1d"}`)
	if w := call(s, "PUT", "/v1/session/create", `{"TTL":"15"}`); w.Code != 500 || code(w) != api.CodeInvalid ||
		!strings.HasPrefix(w.Body.String(), "Invalid Session TTL '15'") || !strings.Contains(w.Body.String(), "the unit is missing") {
		t.Errorf("a TTL without a unit: %d %s", w.Code, w.Body)
	}
	if w := call(s, "PUT", "/v1/session/create", `{"TTL":"1999ms"}`); w.Code != 500 || code(w) != api.CodeInvalid {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A retry of a creation is the same session; another request, or the same key much later, is another.
func TestCreationIsRepeatable(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "a", "", "b", "")
	first := create(t, s, `{"Name":"n"}`, "Idempotency-Key: k", "X-Tenure-Base: 1")
	if again := create(t, s, `{"Name":"n"}`, "Idempotency-Key: k", "X-Tenure-Base: 1"); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	bare := create(t, s, "", "Idempotency-Key: l")
	f.set(t, "c", "")
	if again := create(t, s, "", "Idempotency-Key: l"); again != bare || bare == first {
		t.Errorf("%s, then %s", bare, again)
	}
	if a, b := create(t, s, ""), create(t, s, ""); a == b {
		t.Error("two sessions with one ID")
	}
	if w := call(s, "PUT", "/v1/session/create", "", "Idempotency-Key: k", "X-Tenure-Base: 2"); w.Code != 409 {
		t.Errorf("the key for another request: %d %s", w.Code, w.Body)
	}
}

func TestReadingSessions(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	if w := call(s, "GET", "/v1/session/list", ""); w.Body.String() != "[]" || head(w, api.HeaderIndex) != "1" || head(w, api.HeaderRevision) != "1" {
		t.Errorf("no sessions: %s %v", w.Body, w.Header())
	}
	f.set(t, "k", "")
	a, b := "aaaaaaaa-0000-0000-0000-000000000000", "bbbbbbbb-0000-0000-0000-000000000000"
	f.apply(t, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: b, Node: "n"}})
	f.apply(t, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: a, Name: `"`, Node: "m", TTL: 90 * time.Second, LockDelay: 15 * time.Second, Behavior: kv.Delete}})
	f.set(t, "k", "")
	ja := `{"ID":"` + a + `","Name":"\"","Node":"m","LockDelay":15000000000,"Behavior":"delete","TTL":"90s","NodeChecks":["serfHealth"],"ServiceChecks":[],"CreateIndex":4,"ModifyIndex":4}`
	jb := `{"ID":"` + b + `","Name":"","Node":"n","LockDelay":0,"Behavior":"release","TTL":"","NodeChecks":["serfHealth"],"ServiceChecks":[],"CreateIndex":3,"ModifyIndex":3}`
	for target, want := range map[string]string{
		"/v1/session/list":                        "[" + ja + "," + jb + "]",
		"/v1/session/list?stale":                  "[" + ja + "," + jb + "]",
		"/v1/session/node/n":                      "[" + jb + "]",
		"/v1/session/node/x":                      "[]",
		"/v1/session/info/" + a:                   "[" + ja + "]",
		"/v1/session/info/" + strings.ToUpper(a):  "[" + ja + "]",
		"/v1/session/info/none":                   "[]",
		"/v1/session/info/" + a[:35] + "1?pretty": "[]\n",
	} {
		w := call(s, "GET", target, "")
		if w.Code != 200 || w.Body.String() != want || head(w, api.HeaderIndex) != "4" || head(w, api.HeaderRevision) != "5" {
			t.Errorf("%s: %d %s %v", target, w.Code, w.Body, w.Header())
		}
	}
	for target, code := range map[string]int{"/v1/session/info/": 400, "/v1/session/node/": 400, "/v1/session/list?stale&consistent": 400} {
		if w := call(s, "GET", target, ""); w.Code != code {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	var pretty []map[string]any
	if err := json.Unmarshal(call(s, "GET", "/v1/session/list?pretty", "").Body.Bytes(), &pretty); err != nil || len(pretty) != 2 {
		t.Errorf("%v: %v", pretty, err)
	}
}

// A session shows the node check that Consul's have by default, unless it was created without node checks. A retry of a
// creation is the same session.
func TestNodeChecksOfSessions(t *testing.T) {
	s := newServer(t, newFake(t))
	for body, want := range map[string]string{
		"": `["serfHealth"]`, `{"Name":"n"}`: `["serfHealth"]`, `{"NodeChecks":["serfHealth"]}`: `["serfHealth"]`,
		`{"Checks":[]}`: `["serfHealth"]`, `{"Checks":[],"NodeChecks":[]}`: `[]`, `{"NodeChecks":null}`: `[]`,
	} {
		for _, headers := range [][]string{nil, {"Idempotency-Key: of " + body, "X-Tenure-Base: 1"}} {
			id := create(t, s, body, headers...)
			if again := create(t, s, body, headers...); (again == id) != (headers != nil) {
				t.Errorf("%s %v: created %s, and again %s", body, headers, id, again)
			}
			if w := call(s, "GET", "/v1/session/info/"+id, ""); !strings.Contains(w.Body.String(), `"NodeChecks":`+want+`,`) {
				t.Errorf("%s %v: %s, want %s", body, headers, w.Body, want)
			}
		}
	}
}

func TestRenewAndDestroy(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	id := create(t, s, `{"TTL":"10s"}`)
	w := call(s, "PUT", "/v1/session/renew/"+id, "")
	if w.Code != 200 || !strings.HasPrefix(w.Body.String(), `[{"ID":"`+id+`"`) || !strings.Contains(w.Body.String(), `"TTL":"10s"`) {
		t.Errorf("renew: %d %s", w.Code, w.Body)
	}
	if got, _ := f.state.Session(id); got.Renewals != 1 {
		t.Errorf("%+v", got)
	}
	for _, again := range []string{id, id, strings.ToUpper(id)} { // true also if there is none any more
		if w := call(s, "PUT", "/v1/session/destroy/"+again, ""); w.Code != 200 || w.Body.String() != "true" {
			t.Errorf("destroy: %d %s", w.Code, w.Body)
		}
	}
	for _, gone := range []string{id, "nonsense"} {
		if w := call(s, "PUT", "/v1/session/renew/"+gone, ""); w.Code != 404 || code(w) != api.CodeNoSession {
			t.Errorf("renew what is gone: %d %s", w.Code, w.Body)
		}
	}
	for _, path := range []string{"destroy/", "renew/", "destroy/nonsense"} {
		if w := call(s, "PUT", "/v1/session/"+path, ""); w.Code != 400 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// The lock of a key as Consul's clients see it.
func TestLocks(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	a, b := create(t, s, `{"LockDelay":"0s"}`), create(t, s, `{"LockDelay":"15s"}`)
	for i, c := range []struct{ method, target, body, answer, holder string }{
		{"PUT", "/v1/kv/k?acquire=" + a, "1", "true", a},
		{"PUT", "/v1/kv/k?acquire=" + b, "2", "false", a},
		{"PUT", "/v1/kv/k?acquire=" + strings.ToUpper(a), "3", "true", a},
		{"PUT", "/v1/kv/k", "4", "true", a},
		{"PUT", "/v1/kv/k?release=" + b, "5", "false", a},
		{"PUT", "/v1/kv/k?release=" + a + "&flags=7", "6", "true", ""},
		{"PUT", "/v1/kv/k?acquire=" + b + "&ttl=10s", "7", "true", b},
		{"PUT", "/v1/session/destroy/" + b, "", "true", ""},
		{"PUT", "/v1/kv/k?acquire=" + a, "8", "false", ""}, // lock-delay
	} {
		if w := call(s, c.method, c.target, c.body); w.Code != 200 || w.Body.String() != c.answer {
			t.Errorf("%d %s: %d %s", i, c.target, w.Code, w.Body)
		}
		got := call(s, "GET", "/v1/kv/k", "").Body.String()
		if strings.Contains(got, `"Session"`) != (c.holder != "") || c.holder != "" && !strings.Contains(got, `,"Session":"`+c.holder+`","CreateIndex"`) {
			t.Errorf("%d %s: %s", i, c.target, got)
		}
	}
	if e, _, _ := f.state.Get("k"); e.LockIndex != 2 || string(e.Value) != "7" {
		t.Errorf("%+v", e)
	}
	for _, target := range []string{"acquire=" + b, "acquire=", "acquire=x", "release=x"} {
		if w := call(s, "PUT", "/v1/kv/k?"+target, ""); w.Code != http.StatusInternalServerError || code(w) != api.CodeNoSession {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

func TestExpiresIn(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	call(s, "PUT", "/v1/kv/k?ttl=1m30s", "v")
	if got := call(s, "GET", "/v1/kv/k", "").Body.String(); !strings.HasSuffix(got, `"ModifyIndex":2,"ExpiresIn":"1m30s"}]`) {
		t.Error(got)
	}
	f.remaining = 12345678 * time.Microsecond
	if got := call(s, "GET", "/v1/kv/?recurse&pretty", "").Body.String(); !strings.Contains(got, "\"ModifyIndex\": 2,\n        \"ExpiresIn\": \"12.346s\"\n    }") {
		t.Error(got)
	}
	f.remaining = -time.Second
	if got := call(s, "GET", "/v1/kv/k", "").Body.String(); !strings.Contains(got, `"ExpiresIn":"0s"`) {
		t.Error(got)
	}
	call(s, "PUT", "/v1/kv/k", "v")
	if got := call(s, "GET", "/v1/kv/k", "").Body.String(); strings.Contains(got, "ExpiresIn") {
		t.Errorf("permanent again: %s", got)
	}
}

// Requests of Consul's clients for their locks may be sent again when the master changes, so each gets an idempotency
// key of its own. A client's own key stays.
func TestLocksAndCreationsGetKeys(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	id := create(t, s, "")
	seen := map[string]bool{"": true, "mine": true}
	fresh := func(what string) {
		t.Helper()
		if seen[f.last.IdemKey] || f.last.Base+1 < f.state.Revision() || f.last.Base > f.state.Revision() {
			t.Errorf("%s: key %q, base %d", what, f.last.IdemKey, f.last.Base)
		}
		seen[f.last.IdemKey] = true
		if len(seen) != f.drawn+2 {
			t.Errorf("%s: its key is not said to be the node's own", what)
		}
	}
	fresh("create")
	for _, target := range []string{"/v1/kv/k?acquire=" + id, "/v1/kv/k?acquire=" + id, "/v1/kv/k?release=" + id} {
		call(s, "PUT", target, "")
		fresh(target)
	}
	call(s, "PUT", "/v1/kv/k?acquire="+id, "", "Idempotency-Key: mine")
	if f.last.IdemKey != "mine" {
		t.Errorf("a client's key became %q", f.last.IdemKey)
	}
	if f.drawn != len(seen)-2 {
		t.Error("a client's key is said to be the node's own")
	}
	for _, target := range []string{"/v1/kv/k", "/v1/kv/k?cas=0", "/v1/session/renew/" + id} {
		if call(s, "PUT", target, ""); f.last.IdemKey != "" {
			t.Errorf("%s has a key", target)
		}
	}
}

// A session's keys and remaining time are shown only with the query name for details.
func TestSessionDetails(t *testing.T) {
	f := newFake(t)
	f.remaining = 7200 * time.Millisecond
	s := newServer(t, f)
	a, b := create(t, s, `{"TTL":"10s"}`), create(t, s, "")
	for i := range maxShownKeys + 1 {
		if w := call(s, "PUT", fmt.Sprintf("/v1/kv/k/%03d?acquire=%s", i, a), ""); w.Body.String() != "true" {
			t.Fatal(w.Code, w.Body)
		}
	}
	call(s, "PUT", "/v1/kv/k/000?release="+a, "")
	call(s, "PUT", "/v1/kv/other?acquire="+a, "")
	type details struct {
		ExpiresIn string
		Held      int
		Keys      []string
	}
	for _, path := range []string{"info/" + a, "list", "node/node-0"} {
		if w := call(s, "GET", "/v1/session/"+path, ""); strings.Contains(w.Body.String(), "Held") || w.Code != 200 {
			t.Error(w.Code, w.Body)
		}
		for _, pretty := range []string{"", "&pretty"} {
			var list []struct {
				ID string
				details
			}
			w := call(s, "GET", "/v1/session/"+path+"?details"+pretty, "")
			if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list) == 0 {
				t.Fatal(err, w.Body)
			}
			for _, got := range list {
				switch {
				case got.ID == a && (got.ExpiresIn != "7.2s" || got.Held != maxShownKeys+1 || len(got.Keys) != maxShownKeys || got.Keys[0] != "k/001"):
					t.Errorf("%s: %+v", path, got)
				case got.ID == b && (got.ExpiresIn != "" || got.Held != 0 || got.Keys == nil || len(got.Keys) != 0):
					t.Errorf("%s: %+v", path, got)
				}
			}
		}
	}
}

// Under a key that was used before, with another base, the answer is the ID of the session that was made then.
func TestASessionUnderAKnownKeyIsTheOneOfThen(t *testing.T) {
	s := newServer(t, newFake(t))
	ask := func(base string) string {
		w := call(s, "PUT", "/v1/session/create", "{}", "Idempotency-Key: k", api.HeaderBase+": "+base)
		if w.Code != 200 {
			t.Fatal(w.Code, w.Body)
		}
		return w.Body.String()
	}
	first := ask("1")
	if second := ask("0"); second != first {
		t.Errorf("%s, and then %s", first, second)
	}
}

// A renewal that was applied, and that this node cannot show, was not "not applied".
func TestARenewalThatCannotBeShown(t *testing.T) {
	f := newFake(t)
	f.result = kv.Result{Code: kv.CodeDone, Revision: 5} // of a session that this node has not applied yet
	f.readErr = fmt.Errorf("%w: no master is known", service.ErrNotApplied)
	w := call(newServer(t, f), "PUT", "/v1/session/renew/11111111-0000-4000-8000-000000000000", "")
	if code(w) != api.CodeUnknown || !strings.Contains(w.Body.String(), "was renewed") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
