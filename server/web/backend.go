package web

import (
	"errors"
	"fmt"
	"time"
)

// Backend is the node as its HTTP API sees it. Each handler takes only the part that it uses. All methods are safe for
// concurrent use. Methods with a timeout answer within it, or soon after. They do not end when the client hangs up: the
// wait is short, and a context for each request would cost more.
type Backend interface {
	Reader
	Writer
	Local
	Leases
	Cluster
	Members
	Backups
	Upgrades
	Health
}

// Mode is what a read promises.
type Mode uint8

// The read modes of the API.
const (
	Default    Mode = iota // linearizable while clock rates err by less than the configured drift
	Consistent             // linearizable without that assumption; costs a round of messages
	Stale                  // this node's applied state, as it is
)

// ReadMeta describes the state that a read saw.
type ReadMeta struct {
	Revision    uint64        // of the whole store, 1 if nothing was ever written
	LastContact time.Duration // since this node last heard from the master, or was started; 0 on the master
	KnownLeader bool
}

// What a Backend reports instead of a result. Each is wrapped with what happened and what to do.
var (
	// ErrNotApplied: refused before anything was proposed; safe to retry (503).
	ErrNotApplied = errors.New("not applied")
	// ErrOtherCluster is an ErrNotApplied of a node that must not serve clients, because its cluster was founded beside
	// another one. The client should ask another node (503, so that Consul's clients do).
	ErrOtherCluster = fmt.Errorf("%w", ErrNotApplied)
	// ErrNotCaughtUp: a read, which another node could answer (503).
	ErrNotCaughtUp = errors.New("this node has not caught up with the others: ask another one")
	// ErrOverloaded: not applied, because too much waits already; come back later (503).
	ErrOverloaded = errors.New("not applied: overloaded")
	// ErrUnknown: the write may have been applied, or may still be (504).
	ErrUnknown = errors.New("outcome unknown")
	// ErrNoSpace: the disk's reserve or the quota is reached; deletes and reads go on (507).
	ErrNoSpace = errors.New("no room")
)
