package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"tenure/server"
)

// supervisor tells systemd, or who else listens at NOTIFY_SOCKET, how far the node is: see sd_notify(3). Without a
// listener it does nothing. It is safe for concurrent use.
type supervisor struct {
	log   zerolog.Logger
	mu    sync.Mutex
	ready bool // it was told so
	stops bool // it was told so
	said  bool // that it cannot be told
}

// moreTime is for how long a node that gets on may go on starting. The unit has less, for one that does not.
const moreTime = 2 * time.Minute

// stage tells how far the node has come. Once it was ready only the text is told: a node without a master is no reason
// to end its process.
func (s *supervisor) stage(x server.Stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := "STATUS=" + x.Text
	switch {
	case s.ready || s.stops:
	case x.Ready:
		s.ready = true
		state += "\n" + daemon.SdNotifyReady
	case x.Moves > 0:
		state += fmt.Sprintf("\nEXTEND_TIMEOUT_USEC=%d", moreTime.Microseconds())
	}
	s.tell(state)
}

// stopping tells that the node was asked to stop.
func (s *supervisor) stopping() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stops = true
	s.tell(daemon.SdNotifyStopping)
}

// reloading tells that files are being read again, until done is called. A node that starts yet tells nothing of it.
func (s *supervisor) reloading() (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready || s.stops {
		return func() {}
	}
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // fails only without the clock
	s.tell(fmt.Sprintf("%s\nMONOTONIC_USEC=%d", daemon.SdNotifyReloading, now.Nano()/1000))
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tell(daemon.SdNotifyReady)
	}
}

// tell sends a state. The caller holds mu.
func (s *supervisor) tell(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil && !s.said {
		s.said = true
		s.log.Warn().Err(err).Msg("the supervisor at NOTIFY_SOCKET cannot be told how far this node is")
	}
}
