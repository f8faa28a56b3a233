package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/server/service"
)

func TestStatus(t *testing.T) {
	f := newFake(t)
	f.status = api.Status{Cluster: "c1", Node: 2, Version: "9", Role: "follower", Master: 1, Lease: api.LeaseStatus{RemainingMS: 5}, Problem: "wiped"}
	s := newServer(t, f)
	var got map[string]any
	w := call(s, "GET", "/v1/status", "")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if w.Code != 200 || got["cluster"] != "c1" || got["master"] != 1.0 || got["problem"] != "wiped" || got["lease"].(map[string]any)["remaining_ms"] != 5.0 {
		t.Error(w.Code, w.Body)
	}
	if p, ok := got["peers"].([]any); !ok || len(p) != 0 {
		t.Errorf("peers %v", got["peers"])
	}
	if full, ok := got["full"].([]any); !ok || len(full) != 0 { // of a node that waits for its cluster
		t.Errorf("full %v", got["full"])
	}
	if changes, ok := got["lease"].(map[string]any)["changes"].([]any); !ok || len(changes) != 0 {
		t.Errorf("changes %v", got["lease"])
	}
	if w := call(s, "GET", "/v1/status?pretty", ""); !strings.HasPrefix(w.Body.String(), "{\n    \"cluster\": \"c1\",\n") {
		t.Error(w.Body)
	}
}

func TestConsulStatus(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	check := func(path, want string) {
		t.Helper()
		if w := call(s, "GET", path, ""); w.Code != 200 || w.Body.String() != want || head(w, "Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	check("/v1/status/leader", `""`)
	check("/v1/status/peers", `[]`)
	check("/v1/reports", `{"reports":[{"node":2,"problem":"it is not heard","changes":[]}]}`)
	check("/v1/history", `{"node":1,"every_ms":0,"span_ms":0,"samples":[{"age_ms":1,"requests_per_s":2,"p99_ms":3,`+
		`"lags":[{"node":2,"slots":4}]}]}`)
	f.leader, f.peers = "127.0.0.1:8301", []string{"127.0.0.1:8300", "127.0.0.1:8301"}
	check("/v1/status/leader", `"127.0.0.1:8301"`)
	check("/v1/status/peers?dc=dc1&wait=5000ms&stale", `["127.0.0.1:8300","127.0.0.1:8301"]`)
	for _, path := range []string{"/v1/status/leader", "/v1/status/peers", "/v1/status", "/v1/agent/self"} {
		if w := call(s, "GET", path+"?dc=elsewhere", ""); w.Code != 500 || w.Body.String() != "No path to datacenter\n" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// The Go client of Consul decodes this into a map of maps.
func TestAgentSelf(t *testing.T) {
	f := newFake(t)
	f.status = api.Status{Node: 3, Role: "master"}
	s := newServer(t, f, func(c *Config) { c.Addr = "127.0.0.1:8502" })
	var got map[string]map[string]any
	w := call(s, "GET", "/v1/agent/self", "")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err, w.Body)
	}
	if c := got["Config"]; c["NodeName"] != "node-3" || c["Datacenter"] != "dc1" || c["Version"] != "1.2.3" || c["Server"] != true {
		t.Error(c)
	}
	if m := got["Member"]; m["Name"] != "node-3" || m["Addr"] != "127.0.0.1" || m["Port"] != 8502.0 {
		t.Error(m)
	}
}

func TestMasterTransfer(t *testing.T) {
	for _, c := range []struct {
		body, query string
		err         error
		code        int
		to          ballot.NodeID
		says        api.Code
	}{
		{"", "", nil, 200, 0, ""},
		{"{}", "", nil, 200, 0, ""},
		{`{"Node":3}`, "", nil, 200, 3, ""},
		{`{"Node":3} ` + "\n", "?token=x", nil, 200, 3, ""},
		{`{"Node":3}`, "", fmt.Errorf("%w: node 3 is not caught up", service.ErrNotApplied), 503, 3, api.CodeNotApplied},
		{`{"Node":3}`, "", fmt.Errorf("%w: no answer", service.ErrUnknown), 504, 3, api.CodeUnknown},
		{`{"Node":9}`, "", nil, 400, 0, api.CodeInvalid},
		{`{"Node":"3"}`, "", nil, 400, 0, api.CodeInvalid},
		{`[3]`, "", nil, 400, 0, api.CodeInvalid},
		{`{"To":3}`, "", nil, 400, 0, api.CodeInvalid},
		{`{"Node":-1}`, "", nil, 400, 0, api.CodeInvalid},
		{`{"Node":70000}`, "", nil, 400, 0, api.CodeInvalid},
		{`{"Node":1}{"Node":2}`, "", nil, 400, 0, api.CodeInvalid},
		{`{"Node":`, "", nil, 400, 0, api.CodeInvalid},
		{`{"Node":` + strings.Repeat(" ", 5000) + `1}`, "", nil, 413, 0, api.CodeTooLarge},
		{"", "?foo", nil, 400, 0, api.CodeInvalid},
	} {
		f := newFake(t)
		f.transferErr, f.transfer = c.err, 99
		f.status.Node, f.status.Peers = 1, []api.PeerStatus{{Node: 3}}
		w := call(newServer(t, f), "POST", "/v1/master/transfer"+c.query, c.body)
		if w.Code != c.code || code(w) != c.says || c.says == "" && w.Body.String() != "true" {
			t.Errorf("%.30s%s: %d %s", c.body, c.query, w.Code, w.Body)
		}
		want := c.to
		if c.code == 400 || c.code == 413 {
			want = 99
		}
		if d := cmp.Diff(want, f.transfer); d != "" {
			t.Errorf("%.30s: %s", c.body, d)
		}
	}
}

func TestHealth(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	check := func(path string, code int, body string) {
		t.Helper()
		if w := call(s, "GET", path, ""); w.Code != code || w.Body.String() != body || (code == 503) != (head(w, "Retry-After") != "") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	check("/health/live", 200, "live\n")
	check("/health/ready", 200, "ready\n")
	f.readyErr = errors.New("no master is known")
	check("/health/live", 200, "live\n")
	check("/health/ready", 503, "not ready: no master is known\n")
}

// A node that was given a name says it in sessions that name no node, and of itself.
func TestNodeName(t *testing.T) {
	f := newFake(t)
	f.status = api.Status{Node: 3}
	s := newServer(t, f, func(c *Config) { c.NodeName, c.Revision = "rack 7", "abc" })
	w := call(s, "GET", "/v1/agent/self", "")
	if !strings.Contains(w.Body.String(), `"NodeName":"rack 7"`) || !strings.Contains(w.Body.String(), `"Name":"rack 7"`) ||
		!strings.Contains(w.Body.String(), `"Revision":"abc"`) {
		t.Error(w.Body)
	}
	for _, body := range []string{"", `{"Node":""}`} {
		if w := call(s, "PUT", "/v1/session/create", body); w.Code != 200 {
			t.Fatal(w.Code, w.Body)
		}
		if f.last.Session.Node != "rack 7" {
			t.Errorf("after %q the session's node is %q", body, f.last.Session.Node)
		}
	}
}
