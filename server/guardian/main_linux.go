package guardian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"
)

// The files that the guardian inherits, after the three standard ones.
const (
	pidfdFile = 3
	pageFile  = 4
)

// processName is what ps and top show; the kernel allows 15 bytes.
const processName = "kvnode-guardian"

// Main runs the guardian, and returns after its last Release. An error means that it was not started by Start. Call it
// at the very start of the program, before any part of the server.
//
// Signals that are meant for the server, and come to all processes of its group or terminal, are ignored: the guardian
// ends with the server and not before.
func Main() error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	p, err := mapPage(pageFile)
	if err != nil {
		return fmt.Errorf("%w: kvnode guardian is started by kvnode itself", err)
	}
	if _, err := p.plan(); err != nil {
		return err
	}
	_ = os.WriteFile("/proc/self/comm", []byte(processName), 0) // only a name
	debug.FreeOSMemory()
	shed()
	if err := awaitDeath(pidfdFile); err != nil {
		return err
	}
	plan, err := p.plan() // the newest
	if err != nil {
		return err
	}
	if c := p.counters(); len(c) > 0 {
		speak(context.Background(), &plan, c)
	}
	return nil
}

// awaitDeath returns when the process of the pidfd is gone with all its threads (P7), which is when the kernel makes it
// readable. Any other end of the wait is an error, and then nothing may be said.
func awaitDeath(pidfd int) error {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for the server's end: %w", err)
		case fds[0].Revents&unix.POLLIN != 0:
			return nil
		default:
			return fmt.Errorf("wait for the server's end: poll says %#x", fds[0].Revents)
		}
	}
}

func mapPage(fd int) (page, error) {
	b, err := unix.Mmap(fd, 0, pageBytes, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return page{}, fmt.Errorf("%w: map it: %w", ErrPlan, err)
	}
	return page{b}, nil
}
