package client_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

// memNet carries connections inside the process, so that time in tests is synctest's.
type memNet struct {
	mu    sync.Mutex
	nodes map[string]*memListener
	dials []string
}

type memListener struct {
	name   string
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newMemListener(name string) *memListener {
	return &memListener{name: name, conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *memListener) Addr() net.Addr { return &net.UnixAddr{Name: l.name, Net: "mem"} }

func (m *memNet) dial(ctx context.Context, _, address string) (net.Conn, error) {
	m.mu.Lock()
	l := m.nodes[address]
	m.dials = append(m.dials, address)
	m.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: "mem", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	if l == nil {
		return nil, refused
	}
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// world is a pretended cluster and a client of it, in a synctest bubble.
type world struct {
	*clienttest.Cluster
	net    *memNet
	client *client.Client
	stop   []func()
	names  []string
	seen   func(clienttest.Request)
	slept  atomic.Int64 // what the clock of sessions has counted and timers have not
}

// inWorld runs f in a bubble. Endpoints are n1:1, n2:1, …
func inWorld(t *testing.T, nodes int, cfg client.Config, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nodes, cfg)
		defer w.close()
		f(t, w)
	})
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newWorld(t fataler, nodes int, cfg client.Config) *world {
	t.Helper()
	w := &world{Cluster: clienttest.New(nodes), net: &memNet{nodes: map[string]*memListener{}}}
	w.Reword(func(string) string { return "so it is" }) // no test may depend on the texts that nodes answer
	for i := range nodes {
		name := string([]byte{'n', byte('1' + i)}) + ":1"
		l := newMemListener(name)
		w.net.nodes[name] = l
		w.names = append(w.names, name)
		s := &http.Server{Handler: w.Node(uint64(i + 1)).Handler()}
		done := make(chan struct{})
		go func() { defer close(done); _ = s.Serve(l) }()
		w.stop = append(w.stop, func() { _ = s.Close(); <-done })
	}
	cfg.Endpoints, cfg.DialContext = w.names, w.net.dial
	cfg.NoLearning = true // tests count requests and connections
	w.client = w.dialled(t, cfg)
	began := time.Now()
	w.client.SetClock(func() time.Duration { return time.Since(began) + time.Duration(w.slept.Load()) })
	return w
}

func (w *world) dialled(t fataler, cfg client.Config) *client.Client {
	t.Helper()
	c, err := client.New(cfg)
	if err != nil {
		t.Fatalf("new client: %v", err)
	}
	return c
}

func (w *world) close() {
	w.client.Close()
	for i := range w.stop {
		w.stopNode(i)
	}
}

// kill makes a node refuse connections.
func (w *world) kill(node int) {
	w.net.mu.Lock()
	delete(w.net.nodes, w.names[node-1])
	w.net.mu.Unlock()
	w.stopNode(node - 1)
}

func (w *world) stopNode(i int) {
	w.net.mu.Lock()
	stop := w.stop[i]
	w.stop[i] = func() {}
	w.net.mu.Unlock()
	stop()
}

// inject has f asked about one request after the other.
func (w *world) inject(f func(clienttest.Request) clienttest.Fault) {
	var mu sync.Mutex
	w.Inject(func(r clienttest.Request) clienttest.Fault {
		mu.Lock()
		defer mu.Unlock()
		return f(r)
	})
}

// on injects a fault for the requests that match, the first n times.
func (w *world) on(n int, match func(clienttest.Request) bool, f clienttest.Fault) {
	w.inject(func(r clienttest.Request) clienttest.Fault {
		if w.seen != nil {
			w.seen(r)
		}
		if n == 0 || !match(r) {
			return clienttest.None
		}
		n--
		return f
	})
}

// Seen has f called with every request.
func (w *world) Seen(f func(clienttest.Request)) {
	w.seen = f
}

func writes(r clienttest.Request) bool { return r.IsWrite() }

func within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}
