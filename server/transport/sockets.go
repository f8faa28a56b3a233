package transport

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
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
	evicted   atomic.Uint64 // inbound connections closed in favour of newer ones

	mu      sync.Mutex
	closed  bool
	open    map[net.Conn]struct{}
	pending []net.Conn // inbound ones that have not finished their handshake, oldest first
}

func newSockets(self ballot.NodeID, files *certs.Files, handshake time.Duration) *sockets {
	s := &sockets{self: self, tls: files, handshake: handshake, open: make(map[net.Conn]struct{})}
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

// accepted registers an inbound connection, of which the handshake begins now; it returns nil if the sockets are
// closed. When too many have not finished their handshake one is closed for it: see crowd. The caller must drop the
// connection.
func (s *sockets) accepted(nc net.Conn) *conn {
	nc = overTLS(nc, s.tls, listening)
	if !s.add(nc) {
		return nil
	}
	c := newConn(nc, s.self, time.Now().Add(s.handshake))
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) >= maxPending {
		i := crowd(s.pending)
		s.pending[i].Close()
		s.pending = slices.Delete(s.pending, i, i+1)
		s.evicted.Add(1)
	}
	s.pending = append(s.pending, nc)
	return c
}

// crowd returns which of the connections, oldest first, is to give way to a new one: the oldest of the source that has
// most of them. An honest handshake takes milliseconds, so that those which are idle give way to it; and a flood from
// one address gives way to itself, however slow the handshakes of others are meanwhile.
func crowd(pending []net.Conn) int {
	count := make(map[admission.Source]int)
	for _, nc := range pending {
		count[admission.SourceOf(nc.RemoteAddr())]++
	}
	most := 0
	for i, nc := range pending {
		if count[admission.SourceOf(nc.RemoteAddr())] > count[admission.SourceOf(pending[most].RemoteAddr())] {
			most = i
		}
	}
	return most
}

// established notes that the handshake on a connection has finished.
func (s *sockets) established(nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removePending(nc)
}

// drop closes a connection and forgets it.
func (s *sockets) drop(nc net.Conn) {
	nc.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, nc)
	s.removePending(nc)
}

func (s *sockets) removePending(nc net.Conn) {
	if i := slices.Index(s.pending, nc); i >= 0 {
		s.pending = slices.Delete(s.pending, i, i+1)
	}
}
