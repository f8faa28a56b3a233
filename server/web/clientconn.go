package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"

	"tenure/internal/certs"
	"tenure/internal/wrongport"
	"tenure/server/admission"
)

// maxHeaderLines is how many lines the headers of a request may have, and no more than one piece that is read at a time
// beyond them. A line of four bytes takes net/http a hundred bytes and a microsecond: 64 KiB of such lines on each of a
// thousand connections would take a node's memory and processors.
const maxHeaderLines = 128

const tooManyLines = "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\n" +
	"Connection: close\r\n\r\n431 Request Header Fields Too Large: more than 128 lines"

// clientConn is a connection of a client as net/http sees it. It counts the lines of headers as they come, which
// net/http does not bound. So it speaks TLS itself: what is counted must be plain.
type clientConn struct {
	net.Conn // a *net.TCPConn or secure
	here     wrongport.Port
	admitted *admission.Conn
	secure   *certs.ServerConn // nil without TLS
	errors   *log.Logger
	state    *tls.ConnectionState // of secure, from its first request on; belongs to who serves the connection

	begun   bool         // the first bytes have come; belongs to Read
	asked   atomic.Bool  // a request has come
	heading atomic.Bool  // the headers of a request are being read, or waited for
	lines   atomic.Int64 // of them so far
	moved   atomic.Int64 // bytes read and written that nobody was charged for
}

// Read fails when the headers have too many lines. The piece with the end of the headers may contain lines of a body
// behind it. So the limit is checked before the next read, if that read still belongs to headers.
func (c *clientConn) Read(p []byte) (int, error) {
	heading := c.heading.Load()
	if heading && c.lines.Load() > maxHeaderLines {
		farewell(c.Conn, []byte(tooManyLines))
		return 0, io.EOF
	}
	n, err := c.Conn.Read(p)
	c.moved.Add(int64(n))
	if err != nil && c.secure != nil && !c.secure.ConnectionState().HandshakeComplete {
		c.explain(err)
		return n, io.EOF // net/http has nothing to add
	}
	if !c.begun && n > 0 {
		c.begun = true
		if p := wrongport.Of(p[:n]); p == wrongport.Redis || p == wrongport.Frames {
			c.errors.Printf("%s speaks %s at the port for %s", c.RemoteAddr(), p, c.here)
			farewell(c.Conn, wrongport.Answer(p, c.here))
			return 0, io.EOF
		}
	}
	if heading {
		c.lines.Add(int64(bytes.Count(p[:n], []byte{'\n'})))
	}
	return n, err
}

// Write counts what is written.
func (c *clientConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.moved.Add(int64(n))
	return n, err
}

// explain logs why the handshake of TLS has failed, and tells a client that speaks plain HTTP, or a node.
func (c *clientConn) explain(err error) {
	c.errors.Printf(handshakeLine+"%s failed: %v", c.RemoteAddr(), err)
	var e tls.RecordHeaderError
	if !errors.As(err, &e) || e.Conn == nil {
		return
	}
	switch first := e.RecordHeader; {
	case wrongport.Of(first[:]) == wrongport.HTTP:
		_, _ = io.WriteString(e.Conn,
			"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
	case first[0] == 0: // the length of a frame between nodes, the rest of which TLS has taken
		farewell(e.Conn, wrongport.Answer(wrongport.Frames, c.here))
	}
}

// CloseWrite ends what is sent, so that net/http can let the last answer arrive before it closes.
func (c *clientConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// connKey is the key under which a request's context has its *clientConn.
type connKey struct{}

// withConn is the http.Server's ConnContext.
func withConn(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, nc)
}

// connOf returns the connection of a request, nil if it did not come through our listener.
func connOf(r *http.Request) *clientConn {
	c, _ := r.Context().Value(connKey{}).(*clientConn)
	return c
}

// describe gives r what net/http would have given it if it had spoken TLS itself.
func (c *clientConn) describe(r *http.Request) {
	if c.secure == nil {
		return
	}
	if c.state == nil {
		s := c.secure.ConnectionState()
		c.state = &s
	}
	r.TLS = c.state
}
