package service

import (
	"time"

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

// ReadMeta describes the state that a read saw.
type ReadMeta struct {
	Revision    uint64        // of the whole store, 1 if nothing was ever written
	LastContact time.Duration // since this node last heard from the master, or was started; 0 on the master
	KnownLeader bool
}

// Reader reads the store.
type Reader interface {
	// Get reads one key.
	Get(timeout time.Duration, mode Mode, key string) (kv.Entry, bool, ReadMeta, error)
	// GetMany reads keys in one state and calls each with every one in order, until it returns false. The entry of a
	// key that is absent has ModifyIndex 0. It may begin again with the first key. It returns the revision of that
	// state.
	GetMany(timeout time.Duration, mode Mode, keys []string, each func(i int, e kv.Entry) bool) (uint64, error)
	// Snapshot returns a consistent view for listings; the caller closes it.
	Snapshot(timeout time.Duration, mode Mode) (*kv.Snapshot, ReadMeta, error)
	// CatchUp waits until this node has applied every command that was acknowledged before the call, and returns the
	// store's revision then.
	CatchUp(timeout time.Duration) (revision uint64, err error)
}

// Local is what this node has applied, or measures, by itself: it may be behind the master, and never waits.
type Local interface {
	// Session returns the session of that ID, if there is one.
	Session(id string) (kv.Session, bool)
	// Remaining returns about how long the time that runs on name has left; runs is false if none is known to run.
	Remaining(kind kv.TimedKind, name string) (left time.Duration, runs bool)
	// KeyCount returns how many keys there were a little while ago. known is false if they were not counted yet.
	KeyCount() (keys int, known bool)
}
