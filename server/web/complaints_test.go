package web

import (
	"bytes"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// lockedText is what was written by any goroutine.
type lockedText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestHandshakesDoNotHideOtherLines: failed handshakes, which anybody can cause, have a bounded share of the log, and
// no other line is lost for them.
func TestHandshakesDoNotHideOtherLines(t *testing.T) {
	var out lockedText
	addr, _ := overTLS(t, nil, func(c *Config) { c.Logger = zerolog.New(&out) })
	for range 3 * maxComplaints {
		_ = say(t, addr, "garbage\r\n\r\n")
	}
	if n := strings.Count(out.String(), handshakeLine); n != maxComplaints {
		t.Errorf("%d lines of handshakes: %s", n, out.String())
	}
	var few lockedText
	c := &complaints{log: zerolog.New(&few)}
	line := out.String()[strings.Index(out.String(), handshakeLine):] // as a node has written it
	for range 3 * maxComplaints {
		_, _ = c.Write([]byte(line))
	}
	if _, _ = c.Write([]byte("http: Accept error: no more files; retrying in 5ms\n")); !strings.Contains(few.String(), "Accept error") {
		t.Error("the other line is hidden")
	}
}

// A client that ends the connection within its handshake is no warning: another node may have answered it first.
func TestWhoLeavesInTheHandshakeIsNoWarning(t *testing.T) {
	var out lockedText
	addr, _ := overTLS(t, nil, func(c *Config) { c.Logger = zerolog.New(&out) })
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for end := time.Now().Add(10 * time.Second); !strings.Contains(out.String(), handshakeLine); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is logged")
		}
	}
	if text := out.String(); strings.Contains(text, `"warn"`) {
		t.Error(text)
	}
}
