package web

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"tenure/api"
)

const (
	farewells        = 64              // connections being told at once that there are too many
	farewellTimeout  = time.Second     // for each
	farewellMaxBytes = 4 * (256 << 10) // read from one before it is cut
	tooManyText      = "not applied: too many connections to this node: try again later, or another node\n"
)

// tooMany is the whole answer to a connection that is one too many, of the node of that number.
func tooMany(node string) []byte {
	return []byte("HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n" +
		"Content-Length: " + strconv.Itoa(len(tooManyText)) +
		"\r\n" + api.HeaderRetryAfter + ": 1" +
		"\r\n" + api.HeaderError + ": " + string(api.CodeOverloaded) +
		"\r\n" + api.HeaderNode + ": " + node + "\r\nConnection: close\r\n\r\n" + tooManyText)
}

// limitListener hands out connections while fewer than max are open; one more is answered 503 and closed. How many are
// open is counted by connections, so that a connection needs no wrapper, which would hide from net/http how to close it
// gently.
type limitListener struct {
	net.Listener
	max     int64
	tooMany []byte // the answer to one more
	metrics *metrics
	tls     *tls.Config   // nil: plain HTTP
	slots   chan struct{} // of farewells
	going   sync.WaitGroup
}

func newLimitListener(l net.Listener, max int, m *metrics, node string) *limitListener {
	return &limitListener{Listener: l, max: int64(max), tooMany: tooMany(node), metrics: m,
		slots: make(chan struct{}, farewells)}
}

// Accept is called by one goroutine, the same that reports new connections to connections.changed.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err == nil && l.tls != nil {
			c = tls.Server(c, l.tls) // net/http performs the handshake, within its limit for headers
		}
		if err != nil || l.metrics.conns.Load() < l.max {
			return c, err
		}
		l.metrics.refused.Inc()
		select {
		case l.slots <- struct{}{}:
			l.going.Go(func() {
				farewell(c, l.tooMany)
				<-l.slots
			})
		default: // a flood: no word for this one
			_ = c.Close()
		}
	}
}

// farewell answers 503 whatever was asked, and reads on for a moment: closing with unread bytes would reset the
// connection and take the answer with it.
func farewell(c net.Conn, tooMany []byte) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(farewellTimeout))
	if _, err := c.Write(tooMany); err != nil {
		return
	}
	if t, ok := c.(interface{ CloseWrite() error }); ok && t.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, c, farewellMaxBytes)
	}
}

// connections follows the connections that net/http has: it counts them, and knows those on which nothing has been
// asked yet. http.Server.Shutdown would wait up to five seconds for those; clients that dial ahead leave them behind.
type connections struct {
	open    *atomic.Int64
	unused  sync.Map // of net.Conn
	closing atomic.Bool
}

// changed is the http.Server's ConnState. It is called for every request, hence no lock here.
func (c *connections) changed(conn net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		c.open.Add(1)
		c.unused.Store(conn, nil)
		if c.closing.Load() {
			_ = conn.Close()
		}
	case http.StateActive:
		c.unused.Delete(conn)
	case http.StateClosed, http.StateHijacked:
		c.unused.Delete(conn)
		c.open.Add(-1)
	}
}

// closeUnused closes the connections on which nothing has been asked, and those that are still to come.
func (c *connections) closeUnused() {
	c.closing.Store(true)
	c.unused.Range(func(conn, _ any) bool {
		_ = conn.(net.Conn).Close()
		return true
	})
}
