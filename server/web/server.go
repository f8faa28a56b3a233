package web

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"slices"
	"strconv"
	"syscall"
	"time"

	"tenure/internal/oslimit"
	"tenure/server/admission"
	"tenure/server/service"
)

// Server is the HTTP API of one node, or its part for those who watch over the node: see NewHealth.
type Server struct {
	cfg      Config
	port     port
	metrics  *metrics
	node     string // its number
	service  *service.Service
	waits    *waits
	routes   []route
	router   http.Handler
	http     *http.Server
	conns    connections
	listener *limitListener // nil before Listen
}

// New returns a server that does not listen yet. It registers the HTTP metrics in cfg.Registry.
func New(cfg Config, f *service.Front) (*Server, error) { return newFor(clientPort, cfg, f) }

func newFor(p port, cfg Config, f *service.Front) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	m, err := newMetrics(cfg.Registry, cfg.Hub)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, port: p, metrics: m, node: strconv.FormatUint(uint64(cfg.Node), 10)}
	if s.service, err = service.New(cfg.Config, f, m.admission); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	s.conns.open, s.conns.limits, s.conns.pending = &m.conns, s.Admission().Conns, s.Admission().Pending
	s.waits = &waits{hub: cfg.Hub, service: s.service, waiting: &m.waiting, stopping: make(chan struct{})}
	s.routes = slices.DeleteFunc(newHandlers(cfg, s.service, m, s.waits, s.Addr).table(),
		func(r route) bool { return r.use&p.only != p.only })
	s.router = newRouter(s.routes, p.none(s.routes), s.newDispatcher())
	s.http = &http.Server{
		Handler:           s.router,
		ReadHeaderTimeout: cfg.HeaderTimeout,
		// It ends with the body: net/http lifts it before it waits for the client to go away.
		ReadTimeout:    cfg.HeaderTimeout + cfg.BodyTimeout,
		WriteTimeout:   cfg.ResponseTimeout,
		IdleTimeout:    cfg.IdleTimeout,
		MaxHeaderBytes: cfg.MaxHeaderBytes,
		ConnState:      s.conns.changed,
		ConnContext:    withConn,
		// One request at a time on a connection: what bounds connections then bounds requests, and there are no
		// streams to reset by the thousand.
		Protocols: new(http.Protocols),
		ErrorLog:  log.New(&complaints{log: cfg.Logger}, "", 0),
	}
	s.http.Protocols.SetHTTP1(true)
	return s, nil
}

// newDispatcher returns what all requests have in common.
func (s *Server) newDispatcher() *dispatcher {
	cfg, m := s.cfg, s.metrics
	return &dispatcher{
		node: []string{s.node}, master: &masterName{of: s.service.Master}, service: s.service, metrics: m,
		slow: cfg.Slow, log: cfg.Logger,
		hosts:       NewHosts(cfg.AllowedHosts).certifiedBy(cfg.CertifiedHost),
		crossOrigin: http.NewCrossOriginProtection(), timeouts: timeoutsOf(cfg), waits: s.waits, drained: s.service.Drained,
	}
}

// ServeHTTP answers one request that did not come through the server's own listener. Limits that belong to connections
// (timeouts, header bytes, their number) are then the caller's.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.router.ServeHTTP(w, r) }

// Listen opens Config.Addr. After it, clients can connect; they are answered once Serve runs.
func (s *Server) Listen() error {
	l, err := oslimit.Listen(s.cfg.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("web: %s address %s is in use by another process: stop that, "+
			"or choose another with %s: %w", s.port.whose, s.cfg.Addr, s.port.flag, err)
	}
	if err != nil {
		return fmt.Errorf("web: listen for %s on %s: %w", s.port.whom, s.cfg.Addr, err)
	}
	waiting := &oslimit.Listener{Listener: l, Told: func(err error) {
		s.cfg.Logger.Warn().Err(err).Msg("no client can be taken until others close their connections: raise LimitNOFILE or ulimit -n")
	}}
	s.listener = &limitListener{Listener: waiting, conns: &s.conns, tooMany: tooMany(s.node), refused: s.metrics.refused,
		here: s.port.kind, errors: s.http.ErrorLog, tls: s.cfg.TLS, pending: s.Admission().Pending,
		slots: make(chan struct{}, min(farewells, max(1, s.cfg.Limits.Conns/8)))}
	return nil
}

// Admission returns the bounds on the clients of this server, for other protocols that share its limits.
func (s *Server) Admission() *admission.Control { return s.service.Admission() }

// Addr is where the server listens; before Listen, where it was told to.
func (s *Server) Addr() string {
	if s.listener == nil {
		return s.cfg.Addr
	}
	return s.listener.Addr().String()
}

// Serve answers until Shutdown, and then returns nil at once; Shutdown waits for what is in flight. Listen comes first.
func (s *Server) Serve() error {
	if s.listener == nil {
		return errors.New("web: Serve before Listen")
	}
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("web: serve %s on %s: %w", s.port.whom, s.Addr(), err)
	}
	return nil
}

// EndWaits ends the waiting blocking queries and streams, and later ones: the node stops. A second call does nothing. A
// waiting blocking query is answered with the present state.
func (s *Server) EndWaits() { s.waits.end() }

// AwaitWaits waits until the queries that EndWaits has ended are answered, for limit at most.
func (s *Server) AwaitWaits(limit time.Duration) { s.waits.over(limit) }

// Shutdown ends the waits, takes no more connections and waits for the requests in flight. When ctx ends first, their
// connections are cut and ctx's error is returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.EndWaits()
	s.conns.closeUnused()
	err := s.http.Shutdown(ctx)
	if s.listener != nil {
		_ = s.listener.Close() // net/http closes only what it has begun to serve
		s.listener.going.Wait()
	}
	if err != nil {
		_ = s.http.Close()
		err = fmt.Errorf("web: requests were still in flight: %w", err)
	}
	return err
}
