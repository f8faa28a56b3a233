package web

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"tenure/api"
	"tenure/internal/wrongport"
	"tenure/server/admission"
	"tenure/server/service"
)

// newHealthPort returns a port for health checks that shows the metrics of shown.
func newHealthPort(t *testing.T, f *fake, shown *prometheus.Registry, change ...func(*Config)) *Server {
	t.Helper()
	cfg := testConfig()
	for _, c := range change {
		c(&cfg)
	}
	s, err := NewHealth(cfg, shown, service.FrontOf(f))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTheHealthPortServesNothingElse: it has the health checks and the metrics, without a token where there are tokens.
// For every other route of the API, by any method, it says what it is.
func TestTheHealthPortServesNothingElse(t *testing.T) {
	g := newGuarded(t)
	s := newHealthPort(t, g.fake, prometheus.NewRegistry(), func(c *Config) { c.Access = g.decider })
	served := 0
	for _, r := range append(g.Server.routes, route{path: "/"}, route{path: "/health"}, route{path: "/health/"},
		route{path: "/metrics/"}, route{path: "//health/live"}, route{path: "/debug/pprof/"}) {
		path := strings.NewReplacer("{", "", "}", "").Replace(r.path)
		for _, method := range []string{"GET", "PUT", "POST", "DELETE"} {
			w := call(s, method, path, "{}")
			isHealth := path == api.PathHealthLive || path == api.PathHealthReady || path == api.PathMetrics
			switch {
			case isHealth && method == "GET":
				served++
				if w.Code != http.StatusOK {
					t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
				}
			case isHealth:
				if w.Code != http.StatusMethodNotAllowed {
					t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
				}
			case w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "the API is at its port for HTTP (kvnode --client)"):
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
	}
	if served != 3 {
		t.Errorf("%d routes are served", served)
	}
}

// TestTheHealthPortNamesNoKey: what names prefixes of keys is not among its metrics, also of a node without tokens,
// where the port for clients shows it.
func TestTheHealthPortNamesNoKey(t *testing.T) {
	registry := prometheus.NewRegistry()
	quota := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "tenure_quota_bytes"}, []string{"prefix"})
	quota.WithLabelValues("secret/").Set(1)
	registry.MustRegister(quota, prometheus.NewGauge(prometheus.GaugeOpts{Name: "tenure_other"}))
	f := newFake(t)
	clients := newServer(t, f, func(c *Config) { c.Registry = registry })
	if text := call(clients, "GET", api.PathMetrics, "").Body.String(); !strings.Contains(text, "secret/") {
		t.Errorf("the test is of no use: %s", text)
	}
	text := call(newHealthPort(t, f, registry), "GET", api.PathMetrics, "").Body.String()
	if strings.Contains(text, "secret") || !strings.Contains(text, "tenure_other 0") || !strings.Contains(text, "tenure_http_connections 0") {
		t.Error(text)
	}
}

// TestWhoComesToTheHealthPortByMistake is told which port it wants, as at other ports.
func TestWhoComesToTheHealthPortByMistake(t *testing.T) {
	addr := serve(t, newHealthPort(t, newFake(t), prometheus.NewRegistry()))
	if got := say(t, addr, "*1\r\n$4\r\nPING\r\n"); got != "-ERR "+wrongport.Text(wrongport.Redis, wrongport.Health)+"\r\n" {
		t.Errorf("%q", got)
	}
	if got := say(t, addr, "\x16\x03\x01\x02\x00hello of TLS\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
		t.Errorf("%q", got)
	}
	if got := say(t, addr, "GET /health/live HTTP/1.1\r\nHost: rebound.example.net\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
		t.Errorf("a page of another name: %q", got)
	}
}

// TestFloodsStayAtTheirPort: a flood that takes all places of the port for health checks takes no place of a client,
// and the reverse.
func TestFloodsStayAtTheirPort(t *testing.T) {
	f := newFake(t)
	clients, health := newServer(t, f, func(c *Config) { c.Limits.Conns = 4 }), newHealthPort(t, f, prometheus.NewRegistry(),
		func(c *Config) { c.Limits = admission.Limits{Conns: 4} })
	addrs := map[*Server]string{clients: serve(t, clients), health: serve(t, health)}
	ask := func(s *Server) string {
		got := say(t, addrs[s], "GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		return strings.SplitN(got, "\r\n", 2)[0]
	}
	for _, c := range []struct {
		what          string
		full, another *Server
	}{{"the port for health checks", health, clients}, {"that for clients", clients, health}} {
		var all []net.Conn
		for range 4 {
			all = append(all, dial(t, addrs[c.full]))
		}
		waitFor(t, func() bool { return c.full.metrics.conns.Load() == 4 })
		if got := ask(c.full); got != "HTTP/1.1 503 Service Unavailable" {
			t.Errorf("%s is not full: %s", c.what, got)
		}
		if got := ask(c.another); got != "HTTP/1.1 200 OK" {
			t.Errorf("%s is full, and the other one answers %s", c.what, got)
		}
		fmt.Fprintf(all[0], "GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if got, _ := io.ReadAll(all[0]); !strings.HasPrefix(string(got), "HTTP/1.1 200") {
			t.Errorf("%s, who was there first: %q", c.what, got)
		}
		for _, nc := range all {
			nc.Close()
		}
		waitFor(t, func() bool { return c.full.metrics.conns.Load() == 0 })
	}
}
