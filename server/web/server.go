package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/gorilla/mux"
	"github.com/rs/zerolog"
)

// Server is the HTTP API of one node.
type Server struct {
	cfg         Config
	backend     Backend
	metrics     *metrics
	node        []string // value of api.HeaderNode
	router      *mux.Router
	nowhere     *endpoint // of requests that no route matches
	endpoints   []*endpoint
	crossOrigin *http.CrossOriginProtection
	http        *http.Server
	conns       connections
	listener    *limitListener // nil before Listen
	stopping    chan struct{}  // closed when nobody may wait any more
	stopOnce    sync.Once
}

// New is a server that does not listen yet. It registers the HTTP metrics in cfg.Registry.
func New(cfg Config, b Backend) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if b == nil {
		return nil, errors.New("web: no backend")
	}
	cfg = cfg.withDefaults()
	m, err := newMetrics(cfg.Registry, cfg.Hub)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, backend: b, metrics: m, crossOrigin: http.NewCrossOriginProtection(),
		stopping: make(chan struct{}), node: []string{strconv.FormatUint(uint64(cfg.Node), 10)}}
	s.conns.open = &m.conns
	s.nowhere = s.endpoint("none", nil)
	s.router = s.routes()
	s.http = &http.Server{
		Handler:           s.router,
		ReadHeaderTimeout: cfg.HeaderTimeout,
		// It ends with the body: net/http lifts it before it waits for the client to go away.
		ReadTimeout:    cfg.HeaderTimeout + cfg.BodyTimeout,
		WriteTimeout:   cfg.ResponseTimeout,
		IdleTimeout:    cfg.IdleTimeout,
		MaxHeaderBytes: cfg.MaxHeaderBytes,
		ConnState:      s.conns.changed,
		ErrorLog:       log.New(complaints{cfg.Logger}, "", 0),
	}
	return s, nil
}

func (s *Server) endpoint(name string, methods map[string]handler) *endpoint {
	e := &endpoint{name: name, methods: methods, latency: methodLatency{vec: s.metrics.requests, route: name}}
	var allow []string
	for m := range methods {
		allow = append(allow, m)
		if m == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	e.allow = strings.Join(allow, ", ")
	return e
}

// ServeHTTP answers one request that did not come through the server's own listener. Limits that belong to connections
// (timeouts, header bytes, their number) are then the caller's.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.router.ServeHTTP(w, r) }

// Listen opens Config.Addr. After it, clients can connect; they are answered once Serve runs.
func (s *Server) Listen() error {
	l, err := net.Listen("tcp", s.cfg.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("web: client address %s is in use by another process: stop that, or choose another with --client: %w", s.cfg.Addr, err)
	}
	if err != nil {
		return fmt.Errorf("web: listen for clients on %s: %w", s.cfg.Addr, err)
	}
	s.listener = newLimitListener(l, s.cfg.MaxConns, s.metrics, s.node[0])
	return nil
}

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
		return fmt.Errorf("web: serve clients on %s: %w", s.Addr(), err)
	}
	return nil
}

// Shutdown ends the waits, takes no more connections and waits for the requests in flight. When ctx ends first, their
// connections are cut and ctx's error is returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.EndWaits()
	s.conns.closeUnused()
	err := s.http.Shutdown(ctx)
	if s.listener != nil {
		_ = s.listener.Close() // net/http closes only what it has served
		s.listener.going.Wait()
	}
	if err != nil {
		_ = s.http.Close()
		err = fmt.Errorf("web: requests were still in flight: %w", err)
	}
	return err
}

// complaints passes net/http's own log lines on.
type complaints struct{ log zerolog.Logger }

func (c complaints) Write(line []byte) (int, error) {
	c.log.Warn().Str("from", "net/http").Msg(string(bytes.TrimSpace(line)))
	return len(line), nil
}
