// Package kv is the deterministic state machine: commands go in by log slot, results come out, and on every node
// equal slots give equal bytes. It is pure: no clock, randomness, goroutine, lock or file; nothing it computes depends
// on the order of a Go map.
//
// # Layers
//
// The newest changes live in an ordered table in memory (active) over those that are just being folded (frozen) over
// the durable image, which this package sees only through Source and Image. A read asks them in that order and stops
// at the first that knows the key; a deletion is a tombstone until it is folded. Listings merge the three in key order,
// either way (layers.scan). A fold repeats what frozen says, so a read is right whether the image has it already or
// not.
//
// # Ownership and concurrency
//
// State has a single writer and no lock of its own. The shell holds its lock for writing around Apply, Freeze, Folded,
// Snapshot and Digest, and for reading around Get, Applied, Revision and TableBytes. A Snapshot or a Frozen belongs to
// whoever took it and may be used on another goroutine, without the lock, while State moves on. Entries are never
// changed once they are in a table; everybody may share their values. A decoded command owns its bytes, at the price
// of one copy: a small value must not keep the batch that it came in alive.
//
// # Revisions
//
// Every command that changes data gets the next revision, also if it writes the value that is there already; a prune
// gets one for all it deletes. A command that changes nothing gets none.
//
// # Exactly once
//
// A command may carry an idempotency key and a base: a revision that the client had seen before its first try, the
// same in all retries. The state remembers keys with a hash of the command (without base) and its result, refused
// conditions too, and forgets the oldest beyond Limits. F is the highest revision at which a forgotten key was
// remembered; the state keeps floor = F+1, and 0 while nothing has been forgotten. The rules, in dedup.check:
//
//	key known, same command      its first result again
//	key known, another command   CodeKeyReused
//	base < floor (base ≤ F)      CodeKeyTooOld: an earlier copy may have been applied, so this one is not
//	base > the store's revision  CodeBaseAhead: nobody has seen it; such a base would take too long to grow too old
//	else                         applied and remembered
//
// Why that is at most once: a copy is applied only at a revision ≥ its base, and is then remembered at a revision ≥
// base; once it is forgotten, F ≥ base, and no later copy passes. The table and the floor are part of every fold.
//
// # Formats
//
// Commands and results travel and are stored, so op, code and space numbers are never reused and fields are only
// appended. All nodes must agree on what a command does: Limits and the bounds in limits.go are constants of the
// format, not flags.
//
// Later kinds of state (sessions, expiry, fences) get ops of their own and a Space of their own; layers and Fold do
// not care how many there are.
package kv
