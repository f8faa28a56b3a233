package web

import (
	"regexp"
	"strings"
	"testing"

	"tenure/server/service"

	"github.com/prometheus/client_golang/prometheus"
)

func TestMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "tenure_of_the_node"}, func() float64 { return 5 }))
	s := newServer(t, newFake(t), func(c *Config) { c.Registry = r })
	call(s, "PUT", "/v1/kv/a", "v")
	call(s, "PUT", "/v1/kv/a?foo", "v")
	call(s, "GET", "/v1/kv/a", "")
	call(s, "GET", "/v1/kv/a", "")
	call(s, "GET", "/v1/kv/b", "")
	call(s, "GET", "/v1/kv/?keys", "")
	call(s, "BREW", "/v1/kv/b", "")
	call(s, "SIP", "/nowhere", "")
	w := call(s, "GET", "/metrics", "")
	for _, line := range []string{
		`tenure_http_request_duration_seconds_count{code="200",method="PUT",route="kv"} 1`,
		`tenure_http_request_duration_seconds_count{code="400",method="PUT",route="kv"} 1`,
		`tenure_http_request_duration_seconds_count{code="200",method="GET",route="kv"} 3`,
		`tenure_http_request_duration_seconds_count{code="404",method="GET",route="kv"} 1`,
		`tenure_http_request_duration_seconds_count{code="405",method="other",route="kv"} 1`,
		`tenure_http_request_duration_seconds_count{code="404",method="other",route="none"} 1`,
		`tenure_http_requests_in_flight 1`,
		`tenure_http_connections 0`,
		`tenure_http_connections_refused_total 0`,
		`tenure_http_panics_total 0`,
		`tenure_of_the_node 5`,
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	if t.Failed() {
		t.Log(regexp.MustCompile(`(?m)^.*_bucket.*\n|^#.*\n`).ReplaceAllString(w.Body.String(), ""))
	}
}

func TestMetricsThatAreTaken(t *testing.T) {
	r := prometheus.NewRegistry()
	newServer(t, newFake(t), func(c *Config) { c.Registry = r })
	cfg := testConfig()
	cfg.Registry = r
	if _, err := New(cfg, service.FrontOf(newFake(t))); err == nil || !strings.Contains(err.Error(), "register HTTP metrics") {
		t.Error(err)
	}
}
