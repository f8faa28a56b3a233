package main

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/server"
)

// systemd is told when a node is ready, that it gets on until then, that it reads files again, and that it stops.
func TestASupervisorIsTold(t *testing.T) {
	told := listening(t)
	s := &supervisor{log: zerolog.Nop()}
	want := func(text string) {
		t.Helper()
		if got := told(); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	s.reloading()() // while it starts that is nobody's business
	s.stage(server.Stage{Text: "no master is known"})
	want("STATUS=no master is known")
	s.stage(server.Stage{Text: "catches up", Moves: 7})
	want("STATUS=catches up\nEXTEND_TIMEOUT_USEC=120000000")
	s.stage(server.Stage{Ready: true, Text: "follower"})
	want("STATUS=follower\nREADY=1")
	s.stage(server.Stage{Text: "no master is known", Moves: 8})
	want("STATUS=no master is known")
	done := s.reloading()
	if got := told(); !strings.HasPrefix(got, "RELOADING=1\nMONOTONIC_USEC=") {
		t.Errorf("%q", got)
	}
	done()
	want("READY=1")
	s.stopping()
	want("STOPPING=1")
	s.reloading()()
	s.stage(server.Stage{Ready: true, Text: "stopped"})
	want("STATUS=stopped")
}

// A supervisor that shows how a node is shows in the end why it failed, also if it has not begun.
func TestASupervisorIsToldWhyANodeFailed(t *testing.T) {
	inEmptyDir(t, nil)
	told := listening(t)
	command(t, errors.New("the disk\nis gone"), nil)
	if got := told(); got != "STATUS=the disk is gone" {
		t.Errorf("%q", got)
	}
	command(t, nil, nil, "--lease-time", "soon")
	if got := told(); !strings.HasPrefix(got, `STATUS=--lease-time: "soon" is not`) {
		t.Errorf("%q", got)
	}
}

// A supervisor that reads nothing keeps no node from stopping.
func TestASupervisorThatReadsNothing(t *testing.T) {
	inEmptyDir(t, nil)
	told := listening(t)
	for notify("STATUS=x", time.Now().Add(10*time.Millisecond)) == nil {
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		s := &supervisor{log: zerolog.Nop()}
		for i := range maxStates + 9 {
			s.stage(server.Stage{Text: "catches up", Moves: uint64(i)})
		}
		s.stopping()
		command(t, errors.New("the disk is gone"), nil)
	}()
	select {
	case <-over:
	case <-time.After(20 * time.Second):
		t.Error("the node waits for it")
		for {
			select {
			case <-over:
				return
			default:
				told()
			}
		}
	}
}

// listening returns a function that waits for what a supervisor is told.
func listening(t *testing.T) (told func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return func() string {
		t.Helper()
		buf := make([]byte, 1<<10)
		if err := socket.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := socket.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
}
