package compare

import "time"

const million = 1_000_000

// clock is one of a node's two clocks: straight pieces over true time.
type clock struct {
	since   time.Duration // true time of the newest change
	reading time.Duration // at that time
	ppm     int64         // error of the rate, in millionths
	frozen  bool
}

func (c *clock) at(now time.Duration) time.Duration {
	if c.frozen {
		return c.reading
	}
	past := int64(now - c.since)
	return c.reading + time.Duration(past+past*c.ppm/million)
}

// run changes the rate.
func (c *clock) run(now time.Duration, ppm int64) { c.reading, c.since, c.ppm = c.at(now), now, ppm }

// step adds d at once.
func (c *clock) step(now, d time.Duration) { c.reading, c.since = c.at(now)+d, now }

// freeze stops the clock, or has it go on from where it stands.
func (c *clock) freeze(now time.Duration, frozen bool) {
	c.reading, c.since, c.frozen = c.at(now), now, frozen
}
