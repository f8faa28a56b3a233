package storage

import (
	"fmt"

	"tenure/internal/ident"
	"tenure/multipaxos"
	"tenure/storage/internal/state"
)

// Snapshot is the state database as it was at one checkpoint, to be sent to another node.
type Snapshot = state.Snapshot

// Receiver builds the state database of a snapshot beside the one that the store has.
type Receiver = state.Receiver

// SnapshotStream takes the pieces of a snapshot in order and cuts them into records. It needs no store.
type SnapshotStream = state.SnapshotStream

// SnapshotInfo is what a header says of a snapshot.
type SnapshotInfo = state.SnapshotInfo

// The bounds of what Snapshot hands out.
const (
	MaxSnapshotHeaderBytes = state.MaxSnapshotHeaderBytes
	MaxSnapshotPieceBytes  = state.MaxSnapshotPieceBytes
)

// ParseSnapshot returns what a header says. Safe with anything.
func ParseSnapshot(header []byte) (SnapshotInfo, error) { return state.ParseSnapshot(header) }

// OpenSnapshotStream returns the stream of the snapshot with that header. Safe with anything.
func OpenSnapshotStream(header []byte) (*SnapshotStream, error) {
	return state.OpenSnapshotStream(header)
}

// Snapshot opens a snapshot of the newest checkpoint. It waits for a running checkpoint, since a view would show a part
// of it. ErrInterrupted: Interrupt has left one unfinished. ErrRefused: there is none yet.
func (s *Store) Snapshot() (*Snapshot, error) {
	id := s.Identity()
	return s.state.Snapshot(id.Cluster, id.Membership, s.StartRecord().Longest)
}

// Receive begins to receive the snapshot of header. It refuses with ErrNoSpace if the file system cannot take the
// snapshot and keep the reserve. It refuses with ErrRefused a snapshot of another cluster, one that is not ahead of the
// state database, and a second one at a time. The remains of an abandoned one are removed.
func (s *Store) Receive(header []byte) (*Receiver, error) {
	if err := s.failure.Err(); err != nil {
		return nil, err
	}
	stream, err := state.OpenSnapshotStream(header)
	if err != nil {
		return nil, err
	}
	info, m := stream.Info(), stream.Membership()
	id := s.identity.Load()
	switch {
	case info.Cluster != id.Cluster || id.Cluster.IsZero():
		return nil, fmt.Errorf("%w: a snapshot of cluster %s for %s, which is of cluster %s",
			ErrRefused, info.Cluster, s.files.Dir, id.Cluster)
	case info.Slot <= s.Checkpointed():
		return nil, fmt.Errorf("%w: a snapshot through slot %d for %s, which is at slot %d", ErrRefused, info.Slot,
			s.files.Dir, s.Checkpointed())
	case m.Number > 0:
		if err := id.mayHave(m); err != nil {
			return nil, fmt.Errorf("%s: a snapshot through slot %d: %w", s.files.Dir, info.Slot, err)
		}
	}
	return s.state.Receive(stream, id.Store)
}

// installReceived installs a snapshot that was received, with the log and the node's membership.
func (s *Store) installReceived() error {
	slot, note, err := s.state.Install(s.identity.Load().Store, s.log.Durable(), s.adopt)
	s.installed = slot
	s.note(note)
	return err
}

// adopt makes log.db go with a snapshot through slot, whose file is durable.
func (s *Store) adopt(slot multipaxos.Slot, m ident.Membership) error {
	if m.Number > 0 {
		if err := s.SetMembership(m); err != nil {
			return err
		}
	}
	return s.log.Truncate(slot)
}
