//go:build !linux

package bench

import "time"

// exactSleep waits for d.
func exactSleep(d time.Duration) { time.Sleep(d) }
