package web

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/server/slow"
)

// A slow request has a line with who asked for what and where the time went, but without its value, its query and its
// token.
func TestASlowRequestIsInTheLog(t *testing.T) {
	var out bytes.Buffer
	f := newFake(t)
	f.onWrite = func(time.Duration) { time.Sleep(60 * time.Millisecond) }
	s := newServer(t, f, func(c *Config) {
		c.Slow = slow.New(prometheus.NewRegistry(), 50*time.Millisecond, zerolog.New(&out))
	})
	call(s, "GET", "/v1/kv/quick", "")
	if out.Len() > 0 {
		t.Errorf("one that is not slow: %s", &out)
	}
	call(s, "PUT", "/v1/kv/some/key?flags=77", "the value")
	line := out.String()
	for _, want := range []string{`"method":"PUT"`, `"path":"/v1/kv/some/key"`, `"status":200`, `"took_ms":`, `"client":"192.0.2.1:1234"`,
		`"body_ms":`, `"reply_ms":`} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
	if strings.Contains(line, "the value") || strings.Contains(line, "flags") {
		t.Errorf("it says too much: %s", line)
	}
}
