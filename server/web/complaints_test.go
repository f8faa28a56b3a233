package web

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// TestHandshakesDoNotHideOtherLines: failed handshakes, which anybody can cause, have a bounded share of the log, and
// no other line is lost for them.
func TestHandshakesDoNotHideOtherLines(t *testing.T) {
	var out bytes.Buffer
	c := &complaints{log: zerolog.New(&out)}
	for i := range 100 {
		fmt.Fprintf(c, "http: TLS handshake error from 192.0.2.1:%d: EOF\n", i)
	}
	fmt.Fprintf(c, "http: Accept error: no more files; retrying in 5ms\n")
	if n := strings.Count(out.String(), "handshake"); n != maxComplaints {
		t.Errorf("%d lines of handshakes", n)
	}
	if !strings.Contains(out.String(), "Accept error") {
		t.Error("the other line is hidden")
	}
}
