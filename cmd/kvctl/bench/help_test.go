package bench

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tenure/api"
)

// stub is a node: a handler behind connections inside the process, so that time in tests is synctest's.
type stub struct {
	t       testing.TB
	handler http.HandlerFunc
	conns   chan net.Conn
	closed  chan struct{}
	server  *http.Server

	mu    sync.Mutex
	dials int
	open  int
	most  int // connections at once

	running int // handlers
	stopped bool
	idle    sync.Cond // one has ended
}

func newStub(t testing.TB, h http.HandlerFunc) *stub {
	s := &stub{t: t, handler: h, conns: make(chan net.Conn), closed: make(chan struct{})}
	s.idle.L = &s.mu
	s.server = &http.Server{ConnState: s.count, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.enter() {
			defer s.leave()
			h(w, r)
		}
	})}
	go func() { _ = s.server.Serve(s) }()
	return s
}

func (s *stub) count(_ net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.open++
		s.most = max(s.most, s.open)
	case http.StateClosed:
		s.open--
	}
}

// enter is the begin of a handler; false: none runs any more.
func (s *stub) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.running++
	}
	return !s.stopped
}

func (s *stub) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	s.idle.Broadcast()
}

// stop returns when no handler runs any more: one that sleeps in a bubble of time would be left behind there for good.
func (s *stub) stop() {
	_ = s.server.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.stopped = true; s.running > 0; {
		s.idle.Wait()
	}
}

func (s *stub) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *stub) Close() error   { close(s.closed); return nil }
func (s *stub) Addr() net.Addr { return &net.UnixAddr{Name: "stub", Net: "mem"} }

func (s *stub) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	s.mu.Lock()
	s.dials++
	s.mu.Unlock()
	ours, theirs := net.Pipe()
	select {
	case s.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// config is a valid one that uses s.
func (s *stub) config(op string) Config {
	return Config{
		Op: op, Mode: Default, Near: NearWrites, ReadShare: 0.5, Endpoints: []string{"http://stub:1"}, Clients: 1,
		Conns: 1, Keys: 10, Prefix: "b/",
		ValueSize: 5, Duration: time.Second, Timeout: 10 * time.Second, Dial: s.dial, Sleep: time.Sleep,
	}
}

// store is a handler that keeps keys as a node does.
type store struct {
	mu       sync.Mutex
	revision uint64
	index    map[string]uint64
	sizes    map[int]int
	methods  map[string]int
	delay    time.Duration
}

// refuse answers as a node does.
func refuse(w http.ResponseWriter, status int, code api.Code) {
	w.Header().Set(api.HeaderError, string(code))
	w.WriteHeader(status)
}

func newStore() *store {
	return &store{index: map[string]uint64{}, sizes: map[int]int{}, methods: map[string]int{}, delay: time.Millisecond}
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(s.delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.TrimPrefix(r.URL.Path, "/v1/kv/")
	s.methods[r.Method+" "+r.URL.RawQuery]++
	if r.Method == "GET" {
		if s.index[key] == 0 {
			refuse(w, 404, api.CodeNotFound)
			return
		}
		w.Header().Set(api.HeaderIndex, strconv.FormatUint(s.index[key], 10))
		_, _ = io.WriteString(w, strings.Repeat("v", 5000)) // above net/http's buffer: chunked
		return
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, 400, api.CodeInvalid)
		return
	}
	s.sizes[len(b)]++
	if c := r.URL.Query().Get("cas"); c != "" && c != strconv.FormatUint(s.index[key], 10) {
		_, _ = io.WriteString(w, "false")
		return
	}
	s.revision++
	s.index[key] = s.revision
	w.Header().Set(api.HeaderRevision, strconv.FormatUint(s.revision, 10))
	_, _ = io.WriteString(w, "true")
}

// near tells whether a latency in ms is want, but for the three digits of a histogram.
func near(got, want float64) bool { return got > want*0.998-0.01 && got < want*1.002+0.01 }
