package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/transport"
	"tenure/server/wire"
)

// seek has a member of another cluster look for node 1 of that at the address, and waits until it was refused.
func seek(t *testing.T, cfg Config, addr string) *transport.Transport {
	t.Helper()
	hello := wire.Hello{Cluster: ident.ClusterID{7}, Node: 9, Store: ident.StoreID{9}, Constants: cfg.constants(),
		Incarnation: ballot.Incarnation{Restart: 1, Node: 9}}
	s, err := transport.Listen(transport.Config{Self: 9, Hello: func() wire.Hello { return hello }, Log: zerolog.Nop(),
		DialBack: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.Serve(&city{}, ident.Membership{Number: 1, Members: []ident.Member{{Node: 1, Store: ident.StoreID{1}, PeerAddr: addr},
		{Node: 9, Store: hello.Store}}}, nil)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if p := s.Peers(); len(p) == 1 && strings.Contains(p[0].Problem, "belongs to cluster") {
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("the node was not found: %+v", s.Peers())
		}
	}
}

// A node that has founded a cluster of its own serves nobody while a member of another one looks for it there.
func TestANodeThatAnotherClusterLooksFor(t *testing.T) {
	h := startCluster(t, 1)[0]
	if code, text, _ := h.call(http.MethodPut, "/v1/kv/a", "1"); code != 200 {
		t.Fatal(code, text)
	}
	seek(t, h.cfg, h.cfg.PeerAddr)
	for _, x := range []struct{ method, path string }{{"PUT", "/v1/kv/a"}, {"GET", "/v1/kv/a"}, {"GET", "/v1/kv/a?stale"},
		{"GET", "/v1/members"}, {"GET", "/health/ready"}} {
		code, text, head := h.call(x.method, x.path, "")
		if code != 503 || !strings.Contains(text, "a member of another one looks for it") {
			t.Errorf("%s %s: %d %s", x.method, x.path, code, text)
		}
		if c := codeOf(head); x.path != "/health/ready" && c != api.CodeOtherCluster {
			t.Errorf("%s %s: code %s", x.method, x.path, c)
		}
	}
	if s := h.status(t); s.Role != api.RoleNone || !strings.Contains(s.Problem, "has lost its directory") {
		t.Errorf("role %s, problem %q", s.Role, s.Problem)
	}
}

// A cluster that others have joined takes no notice.
func TestAClusterThatAnotherOneLooksFor(t *testing.T) {
	hosts := startCluster(t, 2)
	seek(t, hosts[0].cfg, hosts[0].cfg.PeerAddr)
	if code, text, _ := hosts[0].call(http.MethodPut, "/v1/kv/a", "1"); code != 200 {
		t.Error(code, text)
	}
	if s := hosts[0].status(t); s.Role == api.RoleNone || s.Problem != "" {
		t.Errorf("role %s, problem %q", s.Role, s.Problem)
	}
}

// A founder that is alone in its cluster serves nobody and lets nobody in until FounderWait is over, at each start.
// Once others have joined it no longer waits.
func TestAFounderWaits(t *testing.T) {
	t.Parallel()
	h := makeCluster(t, 1, func(c *Config) { c.FounderWait = time.Hour })[0]
	h.start(t)
	h.awaitStatus(t, func(s api.Status) bool { return strings.Contains(s.Problem, "is alone in it") })
	for _, x := range []struct{ method, path string }{{"PUT", "/v1/kv/a"}, {"GET", "/v1/kv/a?stale"}, {"GET", "/health/ready"}} {
		if code, text, _ := h.call(x.method, x.path, "1"); code != 503 || !strings.Contains(text, "is alone in it") {
			t.Errorf("%s %s: %d %s", x.method, x.path, code, text)
		}
	}
	two := h.joiner(t, nil)
	two.awaitStatus(t, func(s api.Status) bool { return strings.Contains(s.Problem, "is alone in it") })

	h.stop(t)
	h.cfg.FounderWait = time.Millisecond
	h.start(t)
	two.awaitStatus(t, func(s api.Status) bool { return s.Role == api.RoleFollower })
	h.stop(t)
	h.cfg.FounderWait = time.Hour
	h.start(t)
	h.awaitReady(t)
}
