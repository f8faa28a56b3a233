package web

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"tenure/api"
)

func TestTooManyConnections(t *testing.T) {
	s := newServer(t, newFake(t), func(c *Config) { c.Limits.Conns, c.Node = 2, 3 })
	addr := serve(t, s)
	a, b := dial(t, addr), dial(t, addr)
	waitFor(t, func() bool { return s.metrics.conns.Load() == 2 })
	got := say(t, addr, "GET /v1/kv/k HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 503 ") || !strings.Contains(got, "\r\nRetry-After: 1\r\n") || !strings.Contains(got, "\r\nX-Tenure-Node: 3\r\n") || !strings.HasSuffix(got, tooManyText) {
		t.Errorf("%q", got)
	}
	// Those that were there first are served, and make space when they go.
	fmt.Fprintf(a, "GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if got, _ := io.ReadAll(a); !strings.HasPrefix(string(got), "HTTP/1.1 200") {
		t.Errorf("%q", got)
	}
	b.Close()
	waitFor(t, func() bool { return s.metrics.conns.Load() == 0 })
	if got := say(t, addr, "GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("%q", got)
	}
}

// A flood beyond the limit is closed and forgotten; the server goes on.
func TestConnectionFlood(t *testing.T) {
	s := newServer(t, newFake(t), func(c *Config) { c.Limits.Conns = 1 })
	addr := serve(t, s)
	first := dial(t, addr)
	waitFor(t, func() bool { return s.metrics.conns.Load() == 1 })
	var conns []net.Conn
	for range 3 * farewells {
		conns = append(conns, dial(t, addr))
	}
	for _, c := range conns {
		_, _ = io.ReadAll(c) // ends, with or without a word
		c.Close()
	}
	fmt.Fprintf(first, "GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if got, _ := io.ReadAll(first); !strings.HasPrefix(string(got), "HTTP/1.1 200") {
		t.Errorf("%q", got)
	}
}

func TestHeaderLimits(t *testing.T) {
	s := newServer(t, newFake(t), func(c *Config) { c.HeaderTimeout = 200 * time.Millisecond })
	addr := serve(t, s)
	if got := say(t, addr, "GET /v1/kv/k HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 100<<10)+"\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 431") {
		t.Errorf("%.100q", got)
	}
	if got := say(t, addr, "GET /v1/kv/k?start="+strings.Repeat("x", 20<<10)+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400") || !says(got, api.CodeInvalid) {
		t.Errorf("%.100q", got)
	}
	began := time.Now()
	say(t, addr, "GET /v1/kv/k HTTP/1.1\r\nHost: x\r\n") // and no more
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("unfinished headers were waited for %v", d)
	}
}

func TestByteCount(t *testing.T) {
	for n, want := range map[int]string{512 << 10: "512 KiB", 1000: "1000 bytes", 0: "0 bytes", 1 << 10: "1 KiB", 1025: "1025 bytes"} {
		if got := byteCount(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
