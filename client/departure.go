package client

import (
	"context"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// countedConn counts the bytes that were handed to the operating system.
type countedConn struct {
	net.Conn
	written atomic.Int64
}

// Write counts what it writes.
func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.written.Add(int64(n))
	return n, err
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

func counted(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &countedConn{Conn: c}, nil
	}
}

// departure tells whether any byte of one request has left. A connection carries one request at a time, so what was
// written to it since the request got it is the request's. That a dial failed proves nothing: the transport dials
// when a kept connection turns out to be dead.
type departure struct {
	mu    sync.Mutex
	conns []*countedConn
	from  []int64
	blind bool // a connection of unknown make
}

func (d *departure) gotConn(info httptrace.GotConnInfo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	conn := info.Conn
	if tls, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = tls.NetConn()
	}
	c, ok := conn.(*countedConn)
	if !ok {
		d.blind = true
		return
	}
	d.conns, d.from = append(d.conns, c), append(d.from, c.written.Load())
}

func (d *departure) any() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, c := range d.conns {
		if c.written.Load() != d.from[i] {
			return true
		}
	}
	return d.blind
}
