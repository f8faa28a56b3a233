package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// exactSleep waits for d in the kernel. time.Sleep is up to a millisecond late on an idle Linux, which an open loop
// would count as latency.
func exactSleep(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&left, nil) // cut short by a signal: the caller looks at the clock again
}
