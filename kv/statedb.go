package kv

import "iter"

// RecordKind tells what a record of the state database is about. Each kind has keys of its own, and a bucket on disk.
// For users of kvnode inspect, and in the names of the buckets, it is a space.
type RecordKind uint8

// The kinds of records. Numbers are on disks: they are never reused.
const (
	KindData  RecordKind = 1 // key → entry
	KindDedup RecordKind = 2 // sequence number (8 bytes, big-endian) → remembered idempotency key

	KindSession   RecordKind = 3 // session ID → session
	KindHeld      RecordKind = 4 // session ID, 0, key → nothing: the locks of each session
	KindExpiry    RecordKind = 5 // key → its TTL and the revision at which it was set
	KindDelay     RecordKind = 6 // key → a lock-delay that has not ended
	KindFence     RecordKind = 7 // fence name → largest token
	KindTombstone RecordKind = 8 // key → revision of its deletion
	KindMembers   RecordKind = 9 // one key → the record of the cluster's members

	KindQuota  RecordKind = 10 // prefix → limits and usage of the keys under it
	KindStaged RecordKind = 11 // number (8 bytes, big-endian) → a piece of an upload

	KindPolicy RecordKind = 12 // ID → policy
	KindToken  RecordKind = 13 // accessor → token
)

// Known reports whether this version knows records of s. See Level for when a state has any.
func (s RecordKind) Known() bool { return s >= KindData && s <= KindToken }

// Change is one record of a checkpoint. A nil Value deletes, also what is not there; other values have at least one
// byte. The bytes belong to whoever made the checkpoint.
type Change struct {
	Kind  RecordKind
	Key   []byte
	Value []byte
}

// Checkpoint is everything applied since the last checkpoint, to be merged into the durable state database. After a
// crash the state database holds all of it or nothing. A view that is opened before State.Checkpointed may show some of
// it: the frozen changes that State still has over the state database are all of them.
type Checkpoint struct {
	Slot uint64 // applied slot of the state database once this is in it
	Meta []byte // the state's own record (revision, dedup marks), opaque to storage
	// Changes are sorted by kind, then key, and each key comes once. They come anew, and the same, each time they are
	// ranged over. The bytes of one are valid until the next one. Nil: there are none.
	Changes iter.Seq[Change]
}

// StateDB is a consistent read view of the checkpointed state. The bytes that Get returns are valid until Close, and
// those that Ascend and Descend hand to fn until fn returns. Neither may be changed. An error is damage: the node must
// stop. A view is used by one goroutine at a time.
type StateDB interface {
	// Get is the record of key, or nil.
	Get(kind RecordKind, key []byte) ([]byte, error)
	// Ascend calls fn in key order from the first key ≥ from, until fn says false.
	Ascend(kind RecordKind, from []byte, fn func(key, value []byte) bool) error
	// Descend calls fn in falling key order from the last key < below (nil: the last key), until fn says false.
	Descend(kind RecordKind, below []byte, fn func(key, value []byte) bool) error
	// Overtaken reports whether the view should be closed, because much was written since it was opened: an open view
	// keeps pages from being used again.
	Overtaken() bool
	// Close ends the view.
	Close()
}

// Source opens views of the checkpointed state; safe for concurrent use.
type Source interface {
	// View opens a read view of the newest checkpoint; it may show changes of the one that is being merged.
	View() (StateDB, error)
	// Loaded is the slot and meta record of the newest checkpoint; zero and nil for a new state.
	Loaded() (slot uint64, meta []byte, err error)
}
