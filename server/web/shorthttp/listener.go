package shorthttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Config is fixed for a Listener's life. All fields must be set.
type Config struct {
	// Handler answers what is taken. Its ResponseWriter knows SetWriteDeadline of http.ResponseController, and neither
	// Flush nor Hijack. Requests and headers are the handler's until it returns.
	Handler http.Handler
	// Takes tells by method and target, as they came, which requests are answered here.
	Takes func(method, target []byte) bool
	// Header bounds how long a head may take to arrive, Body how long head and body may; Response a request from its
	// head to the last byte of its answer; Idle the time between requests. All are more than 0.
	Header, Body, Response, Idle time.Duration
	// Opened and Closed are called for each connection when it is accepted and when it ends here; not Closed for one that
	// comes out of Accept.
	Opened, Closed func()
	// Logger gets panics of the handler.
	Logger zerolog.Logger
}

// Listener is a net.Listener whose Accept gives what is not answered here.
type Listener struct {
	cfg    Config
	inner  net.Listener
	start  sync.Once
	out    chan net.Conn
	failed chan error

	period time.Duration // of the sweeper's rounds
	round  atomic.Int64  // of the sweeper, counted
	date   atomic.Pointer[[]byte]

	mu       sync.Mutex
	conns    map[*conn]struct{}
	stopping chan struct{} // closed by Close
	stopped  bool
	idle     chan struct{} // closed once Close was called and no connection is left
}

const (
	sweepEvery = 100 * time.Millisecond
	sweepLeast = 5 * time.Millisecond
)

// New stands before l. The caller closes the Listener, which closes l.
func New(l net.Listener, cfg Config) *Listener {
	return &Listener{cfg: cfg, inner: l, out: make(chan net.Conn), failed: make(chan error),
		period: max(sweepLeast, min(sweepEvery, cfg.Header/4, cfg.Body/4, cfg.Response/4, cfg.Idle/4)),
		conns:  map[*conn]struct{}{}, stopping: make(chan struct{}), idle: make(chan struct{})}
}

// Addr is where connections come in.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Accept waits for a connection that is not for this package. The first call starts what serves the others.
func (l *Listener) Accept() (net.Conn, error) {
	l.start.Do(func() {
		l.newDate(time.Now())
		go l.sweep()
		go l.accept()
	})
	select {
	case c := <-l.out:
		return c, nil
	case err := <-l.failed:
		return nil, err
	case <-l.stopping:
		return nil, net.ErrClosed
	}
}

// accept passes errors on to Accept, whose caller knows which pass by and waits before it calls again.
func (l *Listener) accept() {
	for {
		nc, err := l.inner.Accept()
		if err == nil {
			l.cfg.Opened()
			l.begin(nc)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		select {
		case l.failed <- err:
		case <-l.stopping:
			return
		}
	}
}

func (l *Listener) begin(nc net.Conn) {
	c := newConn(l, nc)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		_ = nc.Close()
		l.cfg.Closed()
		return
	}
	l.conns[c] = struct{}{}
	go c.serve()
}

// end forgets c.
func (l *Listener) end(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	if l.stopped && len(l.conns) == 0 {
		close(l.idle)
	}
}

// Close takes no more connections and ends those that have none of a request; others end with the answer that they owe.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return nil
	}
	l.stopped = true
	close(l.stopping)
	if len(l.conns) == 0 {
		close(l.idle)
	}
	for c := range l.conns {
		if !c.endIf(phaseIdle) {
			c.endIf(phaseNew)
		}
	}
	return l.inner.Close()
}

// Wait is called after Close. It returns once no connection is left. If ctx ends first, it cuts those that are left and returns
// ctx's error.
func (l *Listener) Wait(ctx context.Context) error {
	select {
	case <-l.idle:
		return nil
	default:
	}
	select {
	case <-l.idle:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.cut()
	}
	return ctx.Err()
}
