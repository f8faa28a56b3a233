//go:build !linux

package clock

import "time"

// source is the Go runtime's monotonic clock, counted from the start of the process. It is good enough to try the
// program out and for development. It is not good enough for the promises about leases. On most systems the time
// service slews it, so the configured drift must cover the slewing too. It stands still while the machine sleeps, so a
// machine may wake and believe in a lease that has long passed to another node.
type source struct{ start time.Time }

func (s *source) init() { s.start = time.Now() }

func (s *source) slept() time.Duration { return 0 }

func (s *source) read() time.Duration { return time.Since(s.start) }
