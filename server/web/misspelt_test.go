package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tenure/api"
)

// misspeltBodies are the JSON bodies of all routes that take one, each with a member that is not one of theirs. "" says
// that a route takes no JSON.
var misspeltBodies = map[string]string{
	"PUT /v1/snapshot":                "", // a snapshot
	"PUT /v1/acl/bootstrap":           `{"BootstrapSecret":"","Colour":"red"}`,
	"PUT /v1/acl/token":               `{"Name":"n","Colour":"red"}`,
	"PUT /v1/acl/token/{id}":          `{"Name":"n","Colour":"red"}`,
	"PUT /v1/acl/token/{id}/clone":    `{"Description":"d","Colour":"red"}`,
	"PUT /v1/acl/policy":              `{"Name":"n","Colour":"red"}`,
	"PUT /v1/acl/policy/{id}":         `{"Name":"n","Colour":"red"}`,
	"POST /v1/internal/acl/authorize": `[{"Resource":"acl","Access":"read","Colour":"red"}]`,
	"POST /v1/acl/uses":               "", // a list of texts
	"PUT /v1/txn":                     `[{"KV":{"Verb":"set","Key":"k","Colour":"red"}}]`,
	"PUT /v1/session/create":          `{"TTL":"15s","Colour":"red"}`,
	"PUT /v1/session/destroy/{id}":    "",
	"PUT /v1/session/renew/{id}":      "",
	"PUT /v1/kv/{key}":                "", // the value
	"PUT /v1/quota/{prefix}":          `{"bytes":1,"Colour":"red"}`,
	"POST /v1/kv/{key}":               `{"Op":"add","Num":1,"Colour":"red"}`,
	"POST /v1/lease/{name}/acquire":   `{"Owner":"o","TTL":"1s","Colour":"red"}`,
	"POST /v1/lease/{name}/renew":     `{"Owner":"o","Grant":"g","Colour":"red"}`,
	"POST /v1/lease/{name}/release":   `{"Owner":"o","Acquisition":"a","Colour":"red"}`,
	"POST /v1/leases/renew":           `[{"Name":"n","Owner":"o","Grant":"g","Colour":"red"}]`,
	"POST /v1/master/transfer":        `{"Node":1,"Colour":"red"}`,
	"POST /v1/members/add":            `{"name":"n","Colour":"red"}`,
	"POST /v1/members/remove":         `{"node":1,"Colour":"red"}`,
	"POST /v1/members/replace":        `{"node":1,"Colour":"red"}`,
	"POST /v1/members/promote":        `{"node":1,"Colour":"red"}`,
	"POST /v1/members/update":         `{"node":1,"Colour":"red"}`,
	"POST /v1/members/readmit":        `{"name":"n","Colour":"red"}`,
	"POST /v1/members/cancel":         `{"operation":"o","Colour":"red"}`,
	"POST /v1/upgrade/finish":         `{"dry_run":true,"Colour":"red"}`,
	"POST /v1/members/drain":          `{"node":1,"Colour":"red"}`,
}

// Every route refuses a query name and a member that it does not know, names it, and has changed nothing.
func TestWhatIsMisspeltIsRefusedEverywhere(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	s.EndWaits() // a stream that is not refused ends
	if w := call(s, "PUT", "/v1/kv/k", "1"); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	writes := f.writes
	f.transfer = 99
	for _, e := range described(s) {
		path := strings.NewReplacer("{key}", "k", "{id}", "00000000-0000-4000-8000-000000000001", "{node}", "n", "{name}/", "n/", "{name}", "lease/n").Replace(e.path)
		for method := range e.handlers {
			at := method + " " + e.path
			refused := func(what, target, body string) {
				t.Helper()
				w := call(s, method, target, body)
				if w.Code != http.StatusBadRequest || code(w) != api.CodeInvalid {
					t.Errorf("%s with %s: %d %s", at, what, w.Code, w.Body)
				}
				if text := w.Body.String(); !strings.Contains(strings.ToLower(text), "colour") { // it is named
					t.Errorf("%s with %s: %s", at, what, text)
				}
			}
			refused("an unknown query name", path+"?colour=red", strings.Replace(misspeltBodies[at], `,"Colour":"red"`, "", 1))
			body, known := misspeltBodies[at]
			if !known && (method == "PUT" || method == "POST") {
				t.Errorf("%s: give it a body in misspeltBodies", at)
			}
			if body != "" {
				refused("an unknown member", path, body)
			}
		}
	}
	if f.writes != writes || f.transfer != 99 || len(f.leases) != 0 || len(f.changes) != 0 {
		t.Errorf("%d writes, a transfer to %d, %d requests for leases, %d about members", f.writes-writes, f.transfer,
			len(f.leases), len(f.changes))
	}
}

// What Consul's clients send with everything is taken on Consul's endpoints, and changes no answer.
func TestNamesOfConsulsClients(t *testing.T) {
	const all = "dc=dc1&ns=default&partition=default&token=t&wait=5000ms&stale&cached&hash=1&near=_agent&relay-factor=2&peer=&sg=&filter="
	f := newFake(t)
	s := newServer(t, f)
	for _, c := range []struct{ method, path, body, want string }{
		{"PUT", "/v1/kv/k", "v", "true"},
		{"PUT", "/v1/kv/k?cas=0", "v", "false"},
		{"GET", "/v1/kv/k?raw", "", "v"},
		{"GET", "/v1/kv/?keys", "", `["k"]`},
		{"DELETE", "/v1/kv/k", "", "true"},
		{"PUT", "/v1/txn", `[{"KV":{"Verb":"set","Key":"a","Value":"dg==","Flags":0,"Index":0,"Session":"","Namespace":"default","Partition":"default"},"Node":null,"Service":null,"Check":null}]`, `{"Results":[`},
		{"PUT", "/v1/session/create", `{"Name":"n","NodeChecks":[],"TTL":"15s"}`, `{"ID":`},
		{"GET", "/v1/session/list", "", `[{"ID":`},
		{"GET", "/v1/session/node/node-0", "", `[{"ID":`},
		{"GET", "/v1/session/info/00000000-0000-4000-8000-000000000001", "", `[]`},
		{"PUT", "/v1/session/destroy/00000000-0000-4000-8000-000000000001", "", `true`},
		{"GET", "/v1/status/leader", "", `""`},
		{"GET", "/v1/status/peers", "", `[]`},
		{"GET", "/v1/agent/self", "", `{"Config":`},
		{"GET", "/v1/catalog/nodes", "", `[]`},
		{"GET", "/v1/operator/raft/configuration", "", `{"Servers":[]`},
	} {
		sep := "?"
		if strings.Contains(c.path, "?") {
			sep = "&"
		}
		w := call(s, c.method, c.path+sep+all, c.body)
		if c.path == "/v1/catalog/nodes" && head(w, api.HeaderIndex) != "1" {
			t.Errorf("%s: python-consul looks for an index: %v", c.path, w.Header())
		}
		if w.Code != 200 || !strings.HasPrefix(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
	for _, name := range []string{"filter=Value==v", "partition=p", "peer=p", "sg=g", "ns=n"} {
		for _, path := range []string{"/v1/kv/k", "/v1/session/list", "/v1/status/leader", "/v1/agent/self"} {
			if w := call(s, "GET", path+"?"+name, ""); w.Code != 400 || code(w) != api.CodeInvalid {
				t.Errorf("%s?%s: %d %s", path, name, w.Code, w.Body)
			}
		}
	}
}

// A name of the table is not one that an endpoint understands by itself, and no name is in it twice.
func TestForeignNamesAreForeign(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range foreignNames {
		if seen[f.name] || nameOf(f.name)&(nCommon|nCas|nFlags|nAcquire|nRelease|nTTL|nFence|nRecurse) != 0 {
			t.Errorf("%s is understood, or twice in the table", f.name)
		}
		seen[f.name] = true
	}
}

func TestWhatWasMeant(t *testing.T) {
	for unknown, want := range map[string]string{
		"prefxi": "prefix", "PREFIX": "prefix", "stael": "stale", "stal": "stale", "stales": "stale", "recuse": "recurse", "recrusee": "recurse",
		"cs": "cas", "x": "", "": "", "other": "", "sorted": "", strings.Repeat("stale", 100): "",
	} {
		got := meant(unknown, []string{"prefix", "stale", "recurse", "cas", "start"}, "")
		if want != "" {
			want = fmt.Sprintf(": did you mean %s?", want)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", unknown, got, want)
		}
	}
}
