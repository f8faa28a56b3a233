// Package kv is the deterministic state machine: commands go in by log slot, results come out, and on every node
// equal slots give equal bytes. It is pure: no clock, randomness, goroutine, lock or file; nothing it computes depends
// on the order of a Go map.
//
// # Layers
//
// The newest changes are in an ordered memtable (active) over the frozen memtable, which is being checkpointed, over
// the durable state database, which this package sees only through Source and StateDB. A read asks them in that order
// and stops at the first that knows the key; a deletion is a tombstone until it is checkpointed. Listings merge the
// three in key order, either way (layers.scan). A checkpoint repeats what the frozen memtable says, or after FreezeNext
// the active one does, so a read is right whether the state database has it already or not.
//
// # Components
//
// A State consists of components that own their state. A component may be handed those above it, and never State:
//
//	entries     the layers: what a key holds now
//	registers   sessions, times, fences, tombstones, members, and changes: what of them the next checkpoint writes
//	ledger      the revision, and notes: what the Observer will be told
//	executor    carries out commands on those three; what touches one register alone is a method of the register
//	aclChange   a command on tokens or policies
//	compounds   carries out transactions and sequences on the executor, part by part
//	dedup       the remembered idempotency keys
//	checkpoint  the newest checkpoint in the state database, and those on their way (Frozen)
//
// # Files
//
//	State, and a slot applied to it           state.go, apply.go, plainput.go, members.go, jump.go
//	entries, and reads of them                entries.go, layers.go, memtable.go, list.go, snapshot.go
//	registers                                 registers.go, sessions.go, times.go, timed.go, fences.go, tombstones.go
//	                                          quotas.go, level*.go, acl.go
//	commands on keys                          executor.go, keys.go, values.go, locks.go, putall.go, reads.go
//	their conditions; how an entry is written condition.go, write.go
//	transactions and sequences; tokens        compound.go; aclapply.go
//	an upload that replaces the state         staged.go, stagedpieces.go, install.go
//	idempotency keys                          dedup.go
//	what observers are told                   ledger.go, observe.go
//	all that is known of each operation       catalogue.go
//	what goes on while a disk is nearly full  frees.go
//	checkpoints, and what they are made into  checkpoint.go, statedb.go, memstatedb.go, digest.go, damaged.go
//	a command: its fields, bytes and rules    op.go, mode.go, command.go, fields.go, batch.go, validate*.go
//	bounds of a command; of what is kept      formatbounds.go; tablebounds.go
//	what it came to                           result.go, bodies.go
//	records in the state database             meta.go, record.go, registerrecord.go, quotarecord.go, aclrecord.go
//
// # Ownership and concurrency
//
// State has a single writer and no lock of its own. The runner holds its lock for writing around Apply, SetMembers,
// Freeze, FreezeNext, Checkpointed, Snapshot, Observe and Digest. Whoever is not that writer holds it for reading
// around all other methods. A Snapshot or a Frozen belongs to the caller that took it and may be used on another
// goroutine, without the lock, while State moves on. Entries are never changed once they are in a table; everybody may
// share their values. A command that is applied owns its bytes, at the price of one copy: a small value must not keep
// the batch that it came in alive, nor the frame that had the batch. For the same reason each key and value has memory
// of its own: of a batch with one copy of all its bytes, the last value that is not overwritten would keep all others.
//
// # Revisions
//
// A new store is at revision 1, and its first change gets 2. So no client is told index 0, and a client that waits
// behind the index of an empty store misses nothing. Stores go on from where they are.
//
// Every command that changes entries or sessions gets the next revision, even if it writes the value that a key already
// has. A prune, a transaction and the end of a session get one revision for all their changes. A command that changes
// nothing gets none, and neither do the renewal of a session, the end of a lock-delay and a fence.
//
// # Exactly once
//
// A command may carry an idempotency key and a base: a revision that the client had seen before its first try, the
// same in all retries. The state remembers keys with a hash of the command (without base, and with Command.Said in
// place of what a node has made of it) and its result (without a body above MaxRememberedBody), refused conditions too,
// and forgets the oldest beyond Limits. F is the highest revision at which a forgotten key was remembered; the state
// keeps floor = F+1, and 0 while nothing has been forgotten. The rules, in dedup.check:
//
//	key known, same command      its first result again
//	base < floor (base ≤ F)      CodeKeyTooOld: an earlier copy may have been applied, so this one is not
//	key known, another command   CodeKeyReused: no copy of this command was applied
//	base > the store's revision  CodeBaseAhead: nobody has seen it; such a base would take too long to grow too old
//	else                         applied and remembered
//
// Why that is at most once: a copy is applied only at a revision ≥ its base, and is then remembered at a revision ≥
// base; once it is forgotten, F ≥ base, and no later copy passes. The table and the floor are part of every checkpoint.
//
// A copy whose decision is out of date (see ACL below) is refused before these rules, and without the result of an
// earlier copy: the client may have lost the permission to see it. But the table tells whether there was one. If the
// key is known for the same command, or base < floor, the code is CodeDecideInDoubt. Otherwise it is CodeDecideAgain,
// and that is a verdict on all copies with this Decided or an earlier one. None was applied before: it would be
// remembered, for base ≥ floor. None will be: ACL.Narrowed never falls, so each of them is refused as well.
//
// OpInstall replaces the state by an upload (staged.go, install.go): all entries get the new revision, F rises to the
// one below it, and every idempotency key but the install's own is forgotten.
//
// Jump starts a new cluster from a state: slot, F and, one above it, the revision rise together, and nothing is
// remembered.
//
// # Registers
//
// All other data of the state is in memory whole, in ordered tables (registers): sessions and their locks, TTLs,
// lock-delays, fences, tombstones, the record of the cluster's members, quotas of prefixes, pieces of an upload,
// policies, tokens. Each table is bounded by Limits, or by its writer. Each has a RecordKind of its own in the state
// database, and a checkpoint writes only its changes. The tables share their nodes with their copies, so a snapshot, a
// checkpoint and the way back of a transaction that fails (savepoint) cost a few words each.
//
//	lock         Entry.Session and a record of it in the session's name. A set leaves it unless it releases it, a
//	             delete ends it. A key that is locked is not renamed, and not renamed onto.
//	lock-delay   of every key whose lock ended with its session, by executor.endSession, for Session.LockDelay. The
//	             master measures it (timers.go of server/replica), and ends it by OpEndDelay
//	TTL          ended by a set without one; kept, and not started anew, by commands that change the value in place
//	             and by the end of a lock; moved, and started anew, by a rename
//	ACL          policies, and tokens with the hash of their secret; the anonymous token and the policy that allows
//	             everything are always there. It never changes: a command that changes it makes another, so that who
//	             decides about requests can keep one. A command that was decided on one that is out of date, because a
//	             permission was taken away since (Command.Decided, ACL.Narrowed), is refused before the rules of its
//	             idempotency key. Tokens and policies take revisions; an upload leaves them as they are.
//	tombstone    revision of a key's newest deletion. It stays when the key is written again, which costs nothing: the
//	             key's ModifyIndex is higher then. Beyond the limit the oldest are one number, the floor.
//	members      record of the cluster's members: SetMembers replaces it, as a slot of its own
//	fence        largest token of a name. It is checked after the idempotency key and before the command, and counts
//	             whatever becomes of the command.
//
// Time does not pass here. Everything that must end after a while is a Timed with an Arm: the revision at which it was
// set, or for a session the number of its renewals. The master logs OpEnd… with the Arm that it saw. A command with
// another Arm changes nothing, so a late or repeated one is harmless.
//
// A transaction runs its parts one after the other, each on what those before made, under one revision. If one fails
// the rest run too, to tell of all that fail, and everything is as it was. An Observer is told of a command when it has
// succeeded.
//
// # Formats
//
// Commands and results travel and are stored, so op, code and kind numbers are never reused and fields are only
// appended. All nodes must agree on what a command does: Limits and the bounds in formatbounds.go are constants
// of the format, not flags.
//
// The feature level (level.go) says what of the format a cluster uses. A release raises it by one when it adds an
// operation, a field, a kind of records or a layout: its rule (or RecordKind.Level) says which level it needs. Below
// that level a command gets CodeLevel and changes nothing, as in a release that does not know it. No record of a new
// kind is written. So nodes of two releases have the same state, and the older one can read it, until OpLevel has
// raised the level. The fields of commandMore go into the sums of idempotency keys, so it gets no new field: a new
// operation uses existing fields, or puts its data into Value. Decided is no part of the sums: a retry that was decided
// anew is the same command.
//
// A command is encoded up to its last field that is not zero. Records have a second layout for later fields. The first
// layout is written wherever it is enough.
package kv
