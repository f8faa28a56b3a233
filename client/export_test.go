package client

import "time"

// SetElapsed has sessions reckon on this clock.
func (c *Client) SetElapsed(now func() time.Duration) {
	c.elapsed = func() func() time.Duration { return now }
}
