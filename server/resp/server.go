package resp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tenure/internal/certs"
	"tenure/internal/oslimit"
	"tenure/server/admission"
	"tenure/server/service"
)

// Server serves the Redis protocol on one address.
type Server struct {
	cfg      Config
	service  *service.Service
	listener net.Listener

	shared  shared
	mu      sync.Mutex
	conns   map[*conn]struct{}
	nextID  int64
	closing bool
	going   sync.WaitGroup
}

// shared is what connections share.
type shared struct {
	places  byClient[uint64, place] // by cursor
	sources sources
	told    audience
	asked   byClient[string, struct{}] // names of masters
	open    atomic.Int64               // connections
	unread  atomic.Int64               // bytes, see holding
	began   time.Time

	stopping chan struct{} // closed by Shutdown
}

// New returns a server that does not listen yet.
func New(cfg Config, f *service.Front) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg.withDefaults(), conns: make(map[*conn]struct{})}
	var err error
	if s.service, err = service.New(s.cfg.Config, f, admission.NewMetrics()); err != nil {
		return nil, fmt.Errorf("resp: %w", err)
	}
	s.cfg.Admission = s.service.Admission()
	s.shared.places.each, s.shared.places.all = maxCursorsOfClient, maxCursors
	s.shared.began, s.shared.stopping = time.Now(), make(chan struct{})
	s.shared.asked.each, s.shared.asked.all = maxMasterNames, allMasterNames
	return s, nil
}

// Listen opens Config.Addr. After it, clients can connect; they are answered once Serve runs.
func (s *Server) Listen() error {
	l, err := oslimit.Listen(s.cfg.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("resp: address %s is in use by another process, perhaps a Redis: stop that, or choose another "+
			"with --redis: %w", s.cfg.Addr, err)
	}
	if err != nil {
		return fmt.Errorf("resp: listen for clients of Redis on %s: %w", s.cfg.Addr, err)
	}
	s.listener = &oslimit.Listener{Listener: l, Told: func(err error) {
		s.cfg.Logger.Warn().Err(err).Msg("no client of Redis can be taken until others close their connections")
	}}
	return nil
}

// Addr is where the server listens.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve answers until Shutdown, and then returns nil at once. Listen comes first.
func (s *Server) Serve() error {
	for {
		nc, err := s.listener.Accept()
		switch {
		case err == nil:
			s.begin(nc)
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			return fmt.Errorf("resp: serve clients of Redis on %s: %w", s.Addr(), err)
		}
	}
}

// begin serves a connection in a goroutine of its own, unless there are too many.
func (s *Server) begin(nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limits := s.service.Admission()
	admitted := limits.Conns.AdmitOrdinary(nc)
	if s.closing || admitted == nil {
		if admitted != nil {
			limits.Conns.Release(admitted)
		}
		_, _ = nc.Write([]byte("-ERR max number of clients reached (--max-connections, --max-connections-per-source)\r\n")) // fits every socket's buffer
		_ = nc.Close()
		return
	}
	s.nextID++
	if s.cfg.TLS != nil {
		raw := nc
		limits.Pending.Add(raw)
		nc = certs.Server(raw, s.cfg.TLS, func() { limits.Pending.Done(raw) })
	}
	c := newConn(nc, s, admitted)
	c.id = s.nextID
	s.conns[c] = struct{}{}
	s.shared.open.Add(1)
	s.going.Go(func() {
		c.serve()
		if c, secured := nc.(*certs.ServerConn); secured {
			limits.Pending.Done(c.NetConn())
		}
		limits.Conns.Release(admitted)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, c)
		s.shared.open.Add(-1)
	})
}

// Shutdown takes no more connections, and closes those that wait for a command; the others are answered first. When ctx
// ends they are cut, and ctx's error is returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.closing {
		close(s.shared.stopping)
	}
	s.closing = true
	for c := range s.conns {
		_ = c.net.SetReadDeadline(time.Now()) // it ends when it would read next
	}
	s.mu.Unlock()
	if s.listener != nil {
		_ = s.listener.Close()
	}
	done := make(chan struct{})
	go func() { s.going.Wait(); close(done) }() // ends when the connections are cut
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	for c := range s.conns {
		_ = c.net.Close()
	}
	s.mu.Unlock()
	return ctx.Err()
}
