package resp

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/kv"
	"tenure/server/slow"
)

// panicking is a fake whose writes panic.
type panicking struct{ *fake }

func (panicking) Write(time.Duration, kv.Command, *slow.Write) (kv.Result, error) { panic("a fault") }

// logged is the log of a server.
type logged struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

// A fault in a command ends its connection, as over HTTP, and not the node. Its client is told that the outcome is
// unknown.
func TestAPanicEndsOneConnection(t *testing.T) {
	log := &logged{}
	g := newGuarded(t)
	cfg := g.cfg
	cfg.Logger = zerolog.New(log)
	server := start(t, panicking{g.fake}, cfg)
	s, other := dial(t, server), dial(t, server)
	s.want("AUTH root", "OK")
	other.want("AUTH root", "OK")
	other.want("GET k", "nil")
	s.send("GET k", "SET k v", "GET k")
	if got := s.reply(); !strings.HasPrefix(got, "-UNKNOWN outcome: internal error") {
		t.Error(got)
	}
	if rest, err := io.ReadAll(s.in); err != nil || len(rest) > 0 {
		t.Errorf("then %q, %v", rest, err)
	}
	other.want("GET k", "nil")
	const act = `"act":"redis.get","keys":["k"],"outcome":"unknown","code":"unknown"`
	if line := g.lines(1)[0]; !strings.Contains(line, act) {
		t.Error(line)
	}
	if got := log.String(); !strings.Contains(got, "a fault") || !strings.Contains(got, "panic_test.go") {
		t.Errorf("the log: %s", got)
	}
}
