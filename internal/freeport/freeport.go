// Package freeport finds TCP ports on loopback for servers that are started, stopped and started again.
//
// The ports are below those that systems hand out by themselves (32768 and up on Linux). A port from that range, found
// by listening on port 0 and closing again, is soon the local port of somebody's connection. Then the server meant for
// the port cannot start.
//
// While such a server is down, only this package keeps its port. So each process has a share of the ports to itself,
// held by a lock on a file; the lock ends with the process.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
)

const (
	lowest  = 10_000
	highest = 32_000
	tries   = 1_000
	share   = 200 // of one process
	shares  = (highest - lowest) / share
)

// given is how many ports this process was given.
var given atomic.Uint32

// Run returns the first of n ports in a row on which nobody listened a moment ago. The ports of two calls overlap only
// after many others. Safe for concurrent use.
func Run(n int) (int, error) {
	if n < 1 || n > highest-lowest {
		return 0, fmt.Errorf("freeport: %d ports in a row: must be from 1 to %d", n, highest-lowest)
	}
	for range tries {
		if first := candidate(n); Free(first, n) {
			return first, nil
		}
	}
	return 0, errors.New("freeport: no free ports were found on 127.0.0.1")
}

// own is the number of this process's share: the first one, counted from a number that its id yields, that no other
// process holds. Where all are held, or no lock can be had, it is that number, and two processes may try the same
// ports.
var own = sync.OnceValue(func() int { return take(os.Getpid() % shares) })

func take(first int) int {
	for i := range shares {
		if n := (first + i) % shares; hold(n) {
			return n
		}
	}
	return first
}

// candidate goes through this process's share, or anywhere for more than that has.
func candidate(n int) int {
	if n > share/2 {
		return lowest + rand.IntN(highest-lowest-n+1)
	}
	of := lowest + own()*share
	return of + int(given.Add(uint32(n))-uint32(n))%(share-n+1)
}

// Free reports whether nobody listens on the n ports from first on.
func Free(first, n int) bool {
	for port := first; port < first+n; port++ {
		l, err := net.Listen("tcp", Address(port))
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}

// Address returns port on 127.0.0.1.
func Address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
