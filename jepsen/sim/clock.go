package sim

import "time"

const million = 1_000_000

// clock is a node's elapsed clock: straight pieces over true time. It never goes back.
type clock struct {
	since   time.Duration // true time of the newest change
	reading time.Duration // at that time
	ppm     int64         // error of the rate; -million stands still
}

func (c *clock) at(now time.Duration) time.Duration {
	past := int64(now - c.since)
	return c.reading + time.Duration(past+past*c.ppm/million)
}

// run changes the rate.
func (c *clock) run(now time.Duration, ppm int64) {
	c.reading, c.since, c.ppm = c.at(now), now, ppm
}

// jump adds d at once.
func (c *clock) jump(now, d time.Duration) {
	c.reading, c.since = c.at(now)+d, now
}

// span is the true time that a timer of d takes on this node: the timers of a runtime go on when its elapsed clock
// stands still.
func (c *clock) span(d time.Duration) time.Duration {
	if c.ppm <= -million/2 || c.ppm >= million {
		return d
	}
	return time.Duration(int64(d) * million / (million + c.ppm))
}
