package web

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// unsentBytes bounds what the system holds of an answer that it could not send yet. Without it an answer that nobody
// reads is copied into megabytes of the system's memory, and the next ones after it. What is on its way does not count,
// so that nobody who reads gets less.
const unsentBytes = 128 << 10

// keepUnsentShort sets that for the connections of a listener, which inherit it. An error leaves it as it was.
func keepUnsentShort(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsentBytes)
	})
}
