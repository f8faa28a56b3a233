package web

import (
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenure/api"
	"tenure/internal/wrongport"
	"tenure/server/service"
)

// A port for health checks is a listener of its own for those who watch over the node: load balancers and Prometheus.
// It serves the health checks and the metrics, without TLS and without asking for a token, and nothing else. What it
// shows names no key. Its bounds are its own, so that a flood at it takes no place of a client, and the reverse.

// healthIdle is how long a connection to this port may be idle: a place is worth more there than a kept connection.
const healthIdle = 30 * time.Second

// healthPages is how many requests may gather the metrics there at a time. Each costs milliseconds of a processor, and
// anybody who reaches the port may ask.
const healthPages = 2

// port says what one of the listeners is for.
type port struct {
	kind  wrongport.Port
	whose string // address it is, in errors
	whom  string // it serves, in errors
	flag  string // that sets its address
	only  use    // the routes that it has; 0: all
	// none is the answer to a path that no route of table has.
	none func(table []route) func(path string) error
}

var (
	clientPort = port{kind: wrongport.Clients, whose: "client", whom: "clients", flag: "--client",
		none: func(table []route) func(string) error {
			meant := meantPath(table)
			return func(path string) error { return noEndpoint(path, meant(path)) }
		}}
	healthPort = port{kind: wrongport.Health, whose: "health", whom: "health checks", flag: "--health",
		only: watched,
		none: func([]route) func(string) error { return notHere }}
)

// notHere refuses the paths that the port for health checks does not serve.
func notHere(string) error {
	return refuse(http.StatusNotFound, api.CodeInvalid, "this port of a Tenure node serves "+api.PathHealthLive+", "+
		api.PathHealthReady+" and "+api.PathMetrics+", and nothing else (kvnode --health): the API is at its port for "+
		"HTTP (kvnode --client)")
}

// NewHealth returns a server of a port for health checks that does not listen yet. It shows the metrics of shown,
// except those that name prefixes of keys. It ignores TLS, tokens, the audit log, the shared bounds and the registry in
// cfg: it identifies no client, and does not export its own figures.
func NewHealth(cfg Config, shown prometheus.Gatherer, f *service.Front) (*Server, error) {
	if shown == nil {
		return nil, errors.New("web: no metrics to show")
	}
	cfg.TLS, cfg.Access, cfg.Audit, cfg.Admission, cfg.Registry, cfg.Insecure = nil, nil, nil, nil, nil, true
	cfg.IdleTimeout = healthIdle
	s, err := newFor(healthPort, cfg, f)
	if err != nil {
		return nil, err
	}
	s.metrics.pageWithoutPrefixes = pageOf(withoutPrefixes(shown), healthPages)
	s.metrics.page = s.metrics.pageWithoutPrefixes
	return s, nil
}
