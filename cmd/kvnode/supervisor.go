package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"tenure/server"
)

// supervisor tells systemd, or who else listens at NOTIFY_SOCKET, how far the node is: see sd_notify(3). Without a
// listener it does nothing. It never waits for one that does not listen: a node that is told to stop stops. It is safe
// for concurrent use.
type supervisor struct {
	log    zerolog.Logger
	mu     sync.Mutex
	ready  bool        // it was told so
	stops  bool        // it was told so
	said   bool        // that it cannot be told
	states chan string // that are still to be told; nil: there was none yet
}

// maxStates is how many states may wait for the supervisor: those of a start that takes longer than it may.
const maxStates = 512

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

// tell has a state sent, behind those before it. The caller holds mu.
func (s *supervisor) tell(state string) {
	if s.states == nil {
		s.states = make(chan string, maxStates)
		go s.send(s.states)
	}
	select {
	case s.states <- state:
	default:
		s.cannot(errDeaf)
	}
}

// send sends states as soon as the supervisor takes them, as long as the process runs.
func (s *supervisor) send(states <-chan string) {
	for state := range states {
		if err := notify(state, time.Time{}); err != nil {
			s.mu.Lock()
			s.cannot(err)
			s.mu.Unlock()
		}
	}
}

// cannot says once that the supervisor cannot be told. The caller holds mu.
func (s *supervisor) cannot(err error) {
	if !s.said {
		s.said = true
		s.log.Warn().Err(err).Msg("the supervisor at NOTIFY_SOCKET cannot be told how far this node is")
	}
}

var errDeaf = errors.New("it reads nothing")

// notify tells the supervisor a state, until end at the latest; the zero time is no end. A supervisor that reads
// nothing has no space for it.
func notify(state string, end time.Time) error {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetWriteDeadline(end); err != nil {
		return err
	}
	_, err = io.WriteString(c, state)
	return err
}
