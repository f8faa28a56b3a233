package kv

import "time"

// Session is what locks are bound to: it ends by OpSessionDestroy, or by OpEndSession when it was not renewed in time, and
// with it every lock that it holds. Its words and JSON are Consul's.
type Session struct {
	ID        string // a UUID in lower case
	Name      string
	Node      string
	LockDelay time.Duration // for that long nobody acquires what it held when it ended; 0: no delay
	Behavior  Behavior
	TTL       time.Duration // 0: it ends only when destroyed
	// CreateIndex and ModifyIndex are revisions. A renewal moves neither.
	CreateIndex uint64
	ModifyIndex uint64
	Renewals    uint64 // the Arm of its expiry
}

// Behavior is what happens to the keys whose locks a session holds when it ends.
type Behavior uint8

// The behaviors. Numbers are on disks and wires: they are never reused.
const (
	Release Behavior = 0 // they are unlocked, each with a new ModifyIndex
	Delete  Behavior = 1 // they are deleted
)

// TimedKind says what happens when the time of a Timed has passed.
type TimedKind uint8

// The kinds of Timed.
const (
	TimedSession TimedKind = 1 // Name is a session's ID
	TimedKey     TimedKind = 2 // Name is a key that expires
	TimedDelay   TimedKind = 3 // Name is a key in lock-delay
)

// Timed is a time that runs. The state has no clock: whoever is master measures After from when it learned of this very
// Arm, or from when it became master, whichever is later, and then logs the command that ends it.
type Timed struct {
	Kind  TimedKind
	Name  string
	Arm   uint64
	After time.Duration // 0: it has ended, or was ended; forget it
}

// Changed is what a command did to one key or session, as watchers see it. A key that a transaction changes several times
// comes once, as it is afterwards.
type Changed struct {
	Revision uint64
	Key      string
	Entry    *Entry // nil: deleted; never changed by anybody
	Session  string // ID of a session that was created or ended; Key and Entry are empty then
	Last     bool   // no further Changed has this Revision
}

// Observer is told what Apply does, in order, while Apply runs: it must be quick and must not call the State. What a
// command did is told once it has succeeded. Either may be nil.
type Observer struct {
	Changed func(Changed)
	Timed   func(Timed)
}
