package web

import (
	"bytes"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// Lines of net/http that strangers can cause at will, as by a handshake of TLS that fails.
const (
	complaintsEvery = 10 * time.Second
	maxComplaints   = 8 // in complaintsEvery
)

// complaints passes net/http's own log lines on, as far as they are few.
type complaints struct {
	log zerolog.Logger

	mu      sync.Mutex
	began   time.Time
	lines   int
	dropped int
}

// Write passes one line on.
func (c *complaints) Write(line []byte) (int, error) {
	if pass, dropped := c.pass(time.Now()); pass {
		e := c.log.Warn().Str("from", "net/http")
		if dropped > 0 {
			e = e.Int("not_logged", dropped)
		}
		e.Msg(string(bytes.TrimSpace(line)))
	}
	return len(line), nil
}

// pass reports whether a line that comes now is logged, and how many were not since the last one that was.
func (c *complaints) pass(now time.Time) (pass bool, dropped int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.began) >= complaintsEvery {
		c.began, c.lines = now, 0
	}
	if c.lines >= maxComplaints {
		c.dropped++
		return false, 0
	}
	c.lines++
	dropped, c.dropped = c.dropped, 0
	return true, dropped
}
