package oslimit

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// unsentBytes bounds the unsent bytes that the system buffers for a connection. Without it unread answers are copied
// into megabytes of the system's memory. Bytes in flight do not count, so a client that reads is not slowed down.
const unsentBytes = 128 << 10

// keepUnsentShort sets that for the connections of a listener, which inherit it. An error leaves it as it was.
func keepUnsentShort(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentBytes)
	})
}
