package web

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenure/api"
	"tenure/internal/certs"
	"tenure/internal/wrongport"
	"tenure/server/admission"
)

const (
	farewells        = 64              // connections being told at once that there are too many
	farewellTimeout  = time.Second     // for each
	farewellMaxBytes = 4 * (256 << 10) // read from one before it is cut
	tooManyText      = "not applied: too many connections (--max-connections, --max-connections-per-source): try again later, or another node\n"
)

// tooMany is the whole answer to a connection that is one too many, of the node of that number.
func tooMany(node string) []byte {
	return []byte("HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n" +
		"Content-Length: " + strconv.Itoa(len(tooManyText)) +
		"\r\n" + api.HeaderRetryAfter + ": 1" +
		"\r\n" + api.HeaderError + ": " + string(api.CodeOverloaded) +
		"\r\n" + api.HeaderNode + ": " + node + "\r\nConnection: close\r\n\r\n" + tooManyText)
}

// limitListener hands out the connections that its limits admit; one more is answered 503 and closed.
type limitListener struct {
	net.Listener
	conns   *connections
	here    wrongport.Port
	tooMany []byte // the answer to one more
	refused prometheus.Counter
	errors  *log.Logger
	tls     *tls.Config // nil: plain HTTP
	pending *admission.Pending
	slots   chan struct{} // of farewells
	going   sync.WaitGroup
}

// Accept is called by one goroutine, the same that reports new connections to connections.changed.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		cc := &clientConn{Conn: c, here: l.here, admitted: l.conns.limits.Admit(c), errors: l.errors}
		if l.tls != nil {
			// The handshake comes with the first read, within the limit for headers.
			cc.secure = certs.Server(c, l.tls, func() { l.pending.Done(c) })
			cc.Conn = cc.secure
		}
		if cc.admitted != nil {
			if l.tls != nil {
				l.pending.Add(c)
			}
			return cc, nil
		}
		l.refused.Inc()
		select {
		case l.slots <- struct{}{}:
			l.going.Go(func() {
				farewell(cc.Conn, l.tooMany)
				<-l.slots
			})
		default: // a flood: no word for this one
			_ = c.Close() // without a word of TLS, too
		}
	}
}

// farewell answers whatever was asked, reads on for a moment and closes: closing with unread bytes would reset the
// connection and take the answer with it.
func farewell(c net.Conn, answer []byte) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(farewellTimeout))
	if _, err := c.Write(answer); err != nil {
		return
	}
	if t, ok := c.(interface{ CloseWrite() error }); ok && t.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c, farewellMaxBytes)
	}
}

// connections follows the connections of net/http: it counts them, and knows the connections without a request. Clients
// that dial ahead leave such connections, and http.Server.Shutdown would wait up to five seconds for them.
type connections struct {
	limits  *admission.Conns
	pending *admission.Pending
	open    *atomic.Int64
	known   sync.Map // of *clientConn
	closing atomic.Bool
}

// changed is the http.Server's ConnState. It is called for every request, hence no lock here.
func (c *connections) changed(nc net.Conn, s http.ConnState) {
	conn := nc.(*clientConn)
	switch s {
	case http.StateNew:
		c.open.Add(1)
		conn.heading.Store(true)
		c.known.Store(conn, nil)
		if c.closing.Load() {
			_ = conn.Close()
		}
	case http.StateActive: // the headers have come
		conn.heading.Store(false)
		if !conn.asked.Swap(true) {
			c.limits.Asked(conn.admitted)
		}
	case http.StateIdle:
		conn.lines.Store(0)
		conn.heading.Store(true)
	case http.StateClosed, http.StateHijacked:
		c.known.Delete(conn)
		if conn.secure != nil {
			c.pending.Done(conn.secure.NetConn())
		}
		c.limits.Release(conn.admitted)
		c.open.Add(-1)
	}
}

// closeUnused closes the connections on which nothing has been asked, and those that are still to come.
func (c *connections) closeUnused() {
	c.closing.Store(true)
	c.known.Range(func(known, _ any) bool {
		if conn := known.(*clientConn); !conn.asked.Load() {
			_ = conn.Close()
		}
		return true
	})
}
