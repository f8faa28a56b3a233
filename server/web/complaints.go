package web

import (
	"bytes"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Lines of net/http that strangers can cause at will, as by a handshake of TLS that fails. Those of handshakes have a
// share of their own, so that they never hide another line.
const (
	complaintsEvery = 10 * time.Second
	maxComplaints   = 8 // of one share, in complaintsEvery
)

// handshakeLine is how each line about a handshake begins.
const handshakeLine = "TLS handshake with "

// complaints passes net/http's own log lines on, as far as they are few.
type complaints struct {
	log zerolog.Logger

	mu     sync.Mutex
	began  time.Time
	shares [2]complaintShare // of handshakes, and of all else
}

type complaintShare struct{ lines, dropped int }

// Write passes one line on.
func (c *complaints) Write(line []byte) (int, error) {
	share := 1
	if bytes.HasPrefix(line, []byte(handshakeLine)) {
		share = 0
		if left(line) {
			c.log.Debug().Str("from", "net/http").Msg(string(bytes.TrimSpace(line)))
			return len(line), nil
		}
	}
	if pass, dropped := c.pass(share, time.Now()); pass {
		e := c.log.Warn().Str("from", "net/http")
		if dropped > 0 {
			e = e.Int("not_logged", dropped)
		}
		e.Msg(string(bytes.TrimSpace(line)))
	}
	return len(line), nil
}

// left reports whether a line is about a client that ended the connection within its handshake. Nothing is wrong then: it
// looked whether the port is open, or another node had answered it first.
func left(line []byte) bool {
	line = bytes.TrimSpace(line)
	return bytes.HasSuffix(line, []byte(": EOF")) || bytes.HasSuffix(line, []byte(": connection reset by peer"))
}

// pass reports whether a line of a share that comes now is logged, and how many were not since the last one that was.
func (c *complaints) pass(share int, now time.Time) (pass bool, dropped int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.began) >= complaintsEvery {
		c.began = now
		for i := range c.shares {
			c.shares[i].lines = 0
		}
	}
	s := &c.shares[share]
	if s.lines >= maxComplaints {
		s.dropped++
		return false, 0
	}
	s.lines++
	dropped, s.dropped = s.dropped, 0
	return true, dropped
}
