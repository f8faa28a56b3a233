// Package oslimit tells the limits of a process and its machine from faults. Too many open files, and no memory for one
// more, say nothing about a disk or a network, and pass when others close theirs: so they are waited out. It also bounds
// what the system buffers for a connection.
package oslimit

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	// Pause is the time between two tries.
	Pause = 50 * time.Millisecond

	// Patience is how long OpenFile tries.
	Patience = time.Minute

	// tellEvery is the time in which a Listener tells of one wait at most: under a flood there are many in a second.
	tellEvery = 10 * time.Second
)

// Reached reports whether err says that the process or the machine has too many files open, or no memory for another.
func Reached(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM) ||
		errors.Is(err, syscall.ENOBUFS)
}

// OpenFile is os.OpenFile that waits for at most Patience while a limit is reached.
func OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	for left := Patience; ; left -= Pause {
		f, err := os.OpenFile(name, flag, perm)
		if !Reached(err) || left <= 0 {
			return f, err
		}
		time.Sleep(Pause)
	}
}

// Open is os.Open that waits for at most Patience while a limit is reached.
func Open(name string) (*os.File, error) { return OpenFile(name, os.O_RDONLY, 0) }

// Listener is a listener whose Accept waits while a limit is reached, and goes on after a connection that was gone
// before it was accepted. Accept is for one goroutine at a time.
type Listener struct {
	net.Listener

	// Told is called with the first error of a wait, at most once in 10 s.
	Told func(error)

	told time.Time // when it was called last
}

// Accept returns the next connection, or why there is no other.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		switch {
		case errors.Is(err, syscall.ECONNABORTED):
			continue
		case !Reached(err):
			return c, err
		case time.Since(l.told) > tellEvery:
			l.told = time.Now()
			l.Told(err)
		}
		time.Sleep(Pause)
	}
}
