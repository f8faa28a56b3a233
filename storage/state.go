package storage

import (
	"context"

	"tenure/kv"
	"tenure/multipaxos"
)

var _ kv.Source = (*Store)(nil)

// Loaded returns the slot and meta record of the newest checkpoint; zero and nil for a new state. The bytes are shared.
func (s *Store) Loaded() (uint64, []byte, error) { return s.state.Loaded() }

// View opens a read view of the newest checkpoint. Checkpoints go on beside it, into new pages, so that the file grows
// for as long as it stays open.
func (s *Store) View() (kv.StateDB, error) { return s.state.View() }

// Checkpoint merges f into the state database: changes, slot, meta record and digest, durable on return, and after a
// crash all of them or none. It may run beside Commit and beside views. A view that was open before goes on seeing the
// checkpoint before; one that is opened meanwhile may see some of the changes. An error ends the store, as Commit's
// does. It panics if f goes back in slots, is not sorted, or runs ahead of the durable slots of the own log: a crash
// could lose such a slot from the log, and leave it in the state database. It keeps no part of f except Meta.
//
// Up to Options.CheckpointPartBytes of changes are one transaction, more are several, after the changes are durable in
// the redo file; see *Checkpoints* in DESIGN.md. While the file system has no space for what comes next, Checkpoint
// waits for it, until Interrupt or Close.
func (s *Store) Checkpoint(f *kv.Checkpoint) error {
	return s.state.Checkpoint(f, s.log.Durable().Last)
}

// Checkpointed returns the slot that the state database has reached, durably.
func (s *Store) Checkpointed() multipaxos.Slot { return s.state.Checkpointed() }

// Records returns how many records the newest checkpoint has, and a digest of them that does not depend on the store:
// it is that of a snapshot's SnapshotInfo.
func (s *Store) Records() (count, digest uint64) { return s.state.Records() }

// Digest returns the slot of the newest checkpoint and a digest of the whole state at that slot: of every record and of
// kv's meta record, independent of the layout of the file. Stores with the same state at a slot have the same digest
// there, whatever their earlier checkpoints, and whether the state came from the log or from a snapshot. Each
// checkpoint updates it, so that it costs no reading. The slot is 0 if there is no checkpoint or one is unfinished. It
// is safe for concurrent use.
func (s *Store) Digest() (slot, digest uint64) { return s.state.Digest() }

// Verify reads every page and record of the newest checkpoint and returns damage as an error, after which the store has
// failed. Open does the same for a state.db of up to Options.VerifyBytes. Of a larger one it reads only the branch
// pages, since a start must not take minutes, and the server runs Verify in the background. Verify holds a view open,
// so checkpoints meanwhile make the file grow. It reads as fast as it can: ctx ends it early.
func (s *Store) Verify(ctx context.Context) error { return s.state.Verify(ctx) }

// Scrub compares all pages of state.db that are in use, its meta pages too, with their checksums, at bytesPerSecond of
// file, and returns after one pass. Damage ends the store and is returned. It holds up no view, and lets a checkpoint
// go first.
func (s *Store) Scrub(ctx context.Context, bytesPerSecond int64) error {
	return s.state.Scrub(ctx, bytesPerSecond)
}

// Recount reads all records of the state database, at bytesPerSecond, recomputes their digest, and compares it with the
// one that checkpoints maintain. A difference, or any other damage, ends the store and is returned. Checkpoints
// continue meanwhile, and no view is open for longer than it takes to read recountBytes. Only one Recount may run at a
// time.
func (s *Store) Recount(ctx context.Context, bytesPerSecond int64) error {
	return s.state.Recount(ctx, bytesPerSecond)
}

// GiveBack gives free pages of state.db back to the file system, at bytesPerSecond, if more than half of the file's
// blocks are free. For the next checkpoints it keeps half as much free as is in use, at least 16 MiB. It returns the
// number of bytes given back: 0 if too little is free, or an old view still needs the pages. It blocks no view, delays
// a checkpoint by a few milliseconds, and needs no space. It may crash at any moment: no transaction that a restart
// could return to uses a free page. The error wraps ErrNoHoles, is that of ctx, or is that with which the store has
// ended.
func (s *Store) GiveBack(ctx context.Context, bytesPerSecond int64) (given int64, err error) {
	return s.state.GiveBack(ctx, bytesPerSecond)
}
