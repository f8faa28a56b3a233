//go:build !linux

package clock

import "time"

// source is the Go runtime's monotonic clock, counted from the start of the process. It is good enough to try the
// program out and for development. It is not good enough for the promises about leases: on most systems it is slewed
// by the time service (so the configured drift must cover that too) and it stands still while the machine sleeps, so
// a machine that wakes may believe in a lease that has long passed to another node.
type source struct{ start time.Time }

func (s *source) init() { s.start = time.Now() }

func (s *source) slept() time.Duration { return 0 }

func (s *source) read() time.Duration { return time.Since(s.start) }
