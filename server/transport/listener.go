package transport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// listener accepts the connections of peers.
type listener struct {
	net.Listener
	sockets *sockets
	log     *rareLog
	answer  func(*conn) error // serves a connection from its first message to its end
	garbage atomic.Uint64     // connections that did not speak the protocol
}

// bind listens at addr. An error says what to do about it.
func bind(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return l, nil
	}
	hint := "give an address of this machine with --peer"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "another process listens there, perhaps another kvnode: stop it or choose another port with --peer"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = "this machine has no such address: choose one of its own with --peer"
	case errors.Is(err, syscall.EACCES):
		hint = "ports below 1024 need a privilege: choose another port with --peer"
	}
	return nil, fmt.Errorf("%w on %s: %w; %s", ErrListen, addr, err, hint)
}

// run accepts connections until the sockets are closed.
func (l *listener) run() {
	wait := time.Duration(0)
	for {
		nc, err := l.Accept()
		if err == nil {
			wait = 0
			if c := l.sockets.accepted(nc); c != nil {
				l.sockets.start(func() { l.serve(c) })
			}
			continue
		}
		if l.sockets.ended() {
			return
		}
		l.log.rarely(ofSelf, "accept", func() { l.log.Error().Err(err).Msg("cannot accept connections from peers") })
		wait = min(2*wait+time.Millisecond, acceptPauseMax)
		if !l.sockets.pause(wait) {
			return
		}
	}
}

func (l *listener) serve(c *conn) {
	defer l.sockets.drop(c.nc)
	err := c.authenticate(l.sockets.ctx)
	if err == nil {
		err = l.answer(c)
	}
	if err == nil || l.sockets.ended() {
		return
	}
	var r *Refusal
	if errors.As(err, &r) {
		l.log.refusal(c.share(), c.remote(), r)
		return
	}
	l.garbage.Add(1)
	if errors.Is(err, io.EOF) { // somebody looked whether the port is open
		l.log.Debug().Str("remote", c.remote()).Msg("a connection to the peer port was closed in its handshake")
		return
	}
	line := "garbage"
	if errors.Is(err, errWrongPort) {
		line = err.Error() // its own line, so that garbage does not hide it
	}
	l.log.rarely(c.share(), line, func() {
		l.log.Warn().Str("remote", c.remote()).Err(err).
			Msg("a connection to the peer port did not finish the handshake")
	})
}
