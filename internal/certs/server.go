package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
)

// maxHandshakeBytes is what is read of an end that has not proved anything yet. A hello has one or two kilobytes, a chain
// of four certificates less than ten.
const maxHandshakeBytes = 32 << 10

var errHandshakeTooLong = errors.New("the handshake is longer than any that is needed")

// ServerConn is the listening end of a connection over TLS. Until the handshake has ended it reads a bounded number of
// bytes: what crypto/tls keeps of a message that never ends is memory that a stranger takes.
type ServerConn struct {
	*tls.Conn
	raw   *handshakeConn
	ended func()
	over  bool // the handshake has ended well; belongs to who reads

	mu     sync.Mutex
	leave  func() // to be called when the connection is closed; nil: nothing is
	closed bool
}

// Server returns the listening end of TLS above nc. The handshake comes with the first Read or Write. ended is called
// when it has ended well. Connections share cfg, which has the keys of their sessions.
func Server(nc net.Conn, cfg *tls.Config, ended func()) *ServerConn {
	raw := &handshakeConn{Conn: nc, left: maxHandshakeBytes}
	return &ServerConn{Conn: tls.Server(raw, cfg), raw: raw, ended: ended}
}

// HandshakeContext performs the handshake, unless it was. It must not be called while another goroutine reads.
func (c *ServerConn) HandshakeContext(ctx context.Context) error {
	if c.over {
		return nil
	}
	if err := c.Conn.HandshakeContext(ctx); err != nil {
		return err
	}
	if err := c.begin(); err != nil {
		return err
	}
	c.over, c.raw.unbounded = true, true
	c.ended()
	return nil
}

// begin takes note of the certificate that the client has proven to have, if it has shown one.
func (c *ServerConn) begin() error {
	p := c.raw.proven
	if p == nil {
		return nil
	}
	leave, err := p.begin(c.raw.Conn)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		leave()
	} else {
		c.leave = leave
	}
	return nil
}

// Close closes the connection.
func (c *ServerConn) Close() error {
	c.mu.Lock()
	leave := c.leave
	c.leave, c.closed = nil, true
	c.mu.Unlock()
	if leave != nil {
		leave()
	}
	return c.Conn.Close()
}

// Read reads what the other end has sent over TLS.
func (c *ServerConn) Read(p []byte) (int, error) {
	if err := c.HandshakeContext(context.Background()); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// NetConn returns the connection below TLS.
func (c *ServerConn) NetConn() net.Conn { return c.raw.Conn }

// handshakeConn reads at most so many bytes while a handshake is under way. Its fields belong to whoever reads, one at
// a time: the handshake, and then who reads.
type handshakeConn struct {
	net.Conn
	left      int
	unbounded bool
	proven    *proven // set by the handshake; nil: the client has shown no certificate
}

func (c *handshakeConn) Read(p []byte) (int, error) {
	if c.unbounded {
		return c.Conn.Read(p)
	}
	if c.left <= 0 {
		return 0, errHandshakeTooLong
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
