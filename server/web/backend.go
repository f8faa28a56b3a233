package web

import (
	"context"
	"errors"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/kv"
)

// Mode is what a read promises.
type Mode uint8

// The read modes of the API.
const (
	Default    Mode = iota // linearizable while clock rates err by less than the configured drift
	Consistent             // linearizable without that assumption; costs a round of messages
	Stale                  // this node's applied state, as it is
)

// What a Backend reports instead of a result. Each is wrapped with what happened and what to do.
var (
	// ErrNotApplied: refused before anything was proposed; safe to retry (503).
	ErrNotApplied = errors.New("not applied")
	// ErrOverloaded: not applied, because too much waits already; come back later (503).
	ErrOverloaded = errors.New("not applied: overloaded")
	// ErrUnknown: the write may have been applied, or may still be (504).
	ErrUnknown = errors.New("outcome unknown")
	// ErrNoSpace: the disk's reserve or the quota is reached; deletes and reads go on (507).
	ErrNoSpace = errors.New("no room")
)

// ReadMeta describes the state that a read saw.
type ReadMeta struct {
	Revision    uint64        // of the whole store, 1 if nothing was ever written
	LastContact time.Duration // age of the last word from the master; 0 on the master
	KnownLeader bool
}

// Backend is the node as its HTTP API sees it. All methods are safe for concurrent use. Write, Get and Snapshot answer
// within patience, or soon after; that the client has hung up does not end them, since the wait is short and a context
// for each request costs more than the wait of the few.
type Backend interface {
	// Write has the command applied once, through the master wherever it is. Its error is one of the above. c.Value
	// is not used after Write returns, also when it returns early: the caller reads the next body into it.
	Write(patience time.Duration, c kv.Command) (kv.Result, error)
	// Get reads one key.
	Get(patience time.Duration, mode Mode, key string) (kv.Entry, bool, ReadMeta, error)
	// Snapshot is a consistent view for listings; the caller closes it.
	Snapshot(patience time.Duration, mode Mode) (*kv.Snapshot, ReadMeta, error)
	// Transfer asks the master to hand over, to node `to` if it is not 0. It returns soon after ctx ends.
	Transfer(ctx context.Context, to ballot.NodeID) error
	// Status is the node's view of itself and its peers. It never waits for the disk or the log.
	Status() api.Status
	// Ready is nil if the node knows a master that is ready, and is caught up; else it says what is missing.
	Ready() error
	// Full says which members are short of space, as this node knows it, or is "".
	Full() string
	// Peers lists the peer addresses of the members; Leader is the peer address of the master, or "".
	Peers() []string
	Leader() string
	Local
	Leases
}

// Local is what this node has applied, or measures, by itself: it may be behind the master, and never waits. Safe for
// concurrent use.
type Local interface {
	// Session is the session of that ID, if there is one.
	Session(id string) (kv.Session, bool)
	// Remaining is about how long the time runs on that name has; false if none is known to run.
	Remaining(kind kv.TimedKind, name string) (time.Duration, bool)
}
