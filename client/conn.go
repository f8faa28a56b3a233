package client

import (
	"context"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// countedConn counts the bytes that were given to the operating system.
type countedConn struct {
	net.Conn
	written atomic.Int64
}

// Write counts the bytes that it writes.
func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	return n, err
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// countBytes returns dial with connections that are countedConns.
func countBytes(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &countedConn{Conn: c}, nil
	}
}

// sentBytes tells whether any byte of one request was sent. A connection carries one request at a time, so what was
// written since the request got the connection belongs to the request. A failed dial proves nothing, because the
// transport also dials after it has found a kept connection dead.
type sentBytes struct {
	mu      sync.Mutex
	conns   []*countedConn
	before  []int64 // bytes written to each of conns before the request got it
	unknown bool    // the request got a connection that does not count
}

// gotConn is called with each connection that the request gets.
func (s *sentBytes) gotConn(info httptrace.GotConnInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn := info.Conn
	if tls, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = tls.NetConn()
	}
	c, ok := conn.(*countedConn)
	if !ok {
		s.unknown = true
		return
	}
	s.conns, s.before = append(s.conns, c), append(s.before, c.written.Load())
}

// any reports whether a byte was sent, or may have been.
func (s *sentBytes) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range s.conns {
		if c.written.Load() != s.before[i] {
			return true
		}
	}
	return s.unknown
}
