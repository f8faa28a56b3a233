package transport

import (
	"context"
	"net"
	"sync"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/certs"
	"tenure/server/admission"
)

// sockets are the open connections of a transport and the goroutines that serve them. They end together.
type sockets struct {
	self      ballot.NodeID
	tls       *certs.Files    // nil: connections are plain TCP
	handshake time.Duration   // limit for a dial and its handshake together, and for a handshake with a dialler
	ctx       context.Context // ends with the sockets
	cancel    context.CancelFunc
	work      sync.WaitGroup
	pending   *admission.Pending // inbound ones

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]struct{}
}

func newSockets(self ballot.NodeID, files *certs.Files, handshake time.Duration) *sockets {
	s := &sockets{self: self, tls: files, handshake: handshake, pending: admission.NewPending(maxPending),
		open: make(map[net.Conn]struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// start runs f on a goroutine for which wait waits, unless the sockets are closed.
func (s *sockets) start(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Go(f)
	}
}

// ended reports whether close was called.
func (s *sockets) ended() bool { return s.ctx.Err() != nil }

// close closes all connections. No new ones are opened afterwards.
func (s *sockets) close() {
	s.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for nc := range s.open {
		nc.Close()
	}
}

// wait returns when all goroutines have ended.
func (s *sockets) wait() { s.work.Wait() }

// pause waits for d. It reports false as soon as the sockets are closed.
func (s *sockets) pause(d time.Duration) bool { return pause(s.ctx, d) }

// dial connects to addr, and with TLS makes sure that a node of this cluster is there. The caller must drop the
// connection.
func (s *sockets) dial(ctx context.Context, addr string) (*conn, error) {
	deadline := time.Now().Add(s.handshake)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	nc = overTLS(nc, s.tls, dialling)
	if !s.add(nc) {
		return nil, ErrClosed
	}
	c := newConn(nc, s.self, deadline)
	if err := c.authenticate(ctx); err != nil {
		s.drop(nc)
		return nil, err
	}
	return c, nil
}

// add registers an open connection. It closes nc and reports false if the sockets are closed.
func (s *sockets) add(nc net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		nc.Close()
		return false
	}
	s.open[nc] = struct{}{}
	return true
}

// accepted registers an inbound connection, whose handshake begins now. It returns nil if the sockets are closed. When
// there are too many unfinished handshakes, it closes one of them. The caller must drop the connection.
func (s *sockets) accepted(nc net.Conn) *conn {
	nc = overTLS(nc, s.tls, listening)
	if !s.add(nc) {
		return nil
	}
	s.pending.Add(nc)
	return newConn(nc, s.self, time.Now().Add(s.handshake))
}

// established notes that the handshake on a connection has finished.
func (s *sockets) established(nc net.Conn) { s.pending.Done(nc) }

// drop closes a connection and forgets it.
func (s *sockets) drop(nc net.Conn) {
	nc.Close()
	s.pending.Done(nc)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, nc)
}
