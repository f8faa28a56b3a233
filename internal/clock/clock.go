// Package clock reads the node's elapsed clock: the only time that leases may be reckoned in.
//
// The clock counts suspend and is not slewed. It is never wall time and never another node's time. Its readings mean
// nothing outside the process, and mostly nothing across a reboot. A handler reads it once and passes the reading on.
//
//	clock.go         Clock, which never goes backwards
//	source_linux.go  where the time comes from on Linux
//	source_other.go  the weaker stand-in elsewhere
//	adjust.go        the identity; a build with the tag tenure_testclock puts a rate and a jump in its place
package clock

import (
	"sync/atomic"
	"time"
)

// Clock is the elapsed clock. All its methods are safe for concurrent use. The zero value is not usable: see New.
type Clock struct {
	source source
	last   atomic.Int64
}

// New returns a clock that is ready to be read. It panics where the kernel lacks one of the clocks it needs, because
// without them no lease can be kept safely.
func New() *Clock {
	c := &Clock{}
	c.source.init()
	return c
}

// Suspended returns for how long the machine was suspended since it was booted, as the newest reading has found it.
// Where the clock does not count that, it is 0.
func (c *Clock) Suspended() time.Duration { return c.source.slept() }

// Now returns the time elapsed since a fixed instant before the process started. The reading is true for some instant
// between the call and the return, and no reading that begins after another has returned is below it.
func (c *Clock) Now() time.Duration {
	now := int64(adjust(c.source.read()))
	for {
		last := c.last.Load()
		if now <= last {
			return time.Duration(last)
		}
		if c.last.CompareAndSwap(last, now) {
			return time.Duration(now)
		}
	}
}
