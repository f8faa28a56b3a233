package kv

import (
	"fmt"

	"tenure/internal/codec"
)

// metaFormat is the format of the meta record.
const metaFormat = 1

// FirstRevision is that of a new state, so that its first change gets the one above. The index of a read is never 0. A
// client that has read an empty store waits for a change above that index, so no change may have the index itself.
const FirstRevision = 1

// meta is the state's own record in every checkpoint. First and Next say which dedup records must be there, and the
// numbers from Sessions on how many records of the other kinds.
type meta struct {
	Format   uint64
	Slot     uint64
	Revision uint64
	Floor    uint64
	First    uint64
	Next     uint64

	SessionsIndex  uint64
	LeaseFloor     uint64 // of fences
	KVFloor        uint64
	TombstoneFloor uint64
	Sessions       uint64
	Held           uint64
	Expiring       uint64
	Delays         uint64
	Fences         uint64
	Tombstones     uint64

	Eras    uint64
	Members uint64

	Level   uint64
	Release string // that has raised it: what an older one names when it refuses the state
	Quotas  uint64
	Staged  uint64

	ACLRevision  uint64
	ACLNarrowed  uint64
	ACLBootstrap uint64
	Policies     uint64
	Tokens       uint64
}

// encode returns m as a checkpoint has it.
func (m *meta) encode() []byte { return codec.Marshal(m) }

// CheckMeta returns an error unless State can be opened with the meta record of a checkpoint through slot.
func CheckMeta(slot uint64, record []byte) error {
	_, err := decodeMeta(slot, record)
	return err
}

// Reached is how far a state had come at a checkpoint.
type Reached struct{ Revision, Eras, Level uint64 }

// ReadMeta returns how far the state had come whose checkpoint through slot has this meta record. It is for records from
// outside: safe with anything, and an error if no state can have come that far.
func ReadMeta(slot uint64, record []byte) (Reached, error) {
	m, err := decodeMeta(slot, record)
	if err == nil {
		err = m.checkReached()
	}
	return Reached{m.Revision, m.Eras, m.Level}, err
}

// decodeMeta reads the meta record that came with slot; none with slot 0 is a new state. An existing state goes on from
// its own revision, even below FirstRevision.
func decodeMeta(slot uint64, b []byte) (meta, error) {
	if slot == 0 && b == nil {
		return meta{Format: metaFormat, Revision: FirstRevision}, nil
	}
	var m meta
	if err := codec.Unmarshal(b, &m); err != nil {
		return meta{}, damaged("meta record of slot %d: %w", slot, err)
	}
	if err := m.checkLevel(); err != nil {
		return meta{}, err
	}
	switch {
	case m.Slot != slot:
		return meta{}, damaged("the state database is said to be of slot %d, its meta record is of slot %d",
			slot, m.Slot)
	case m.First > m.Next || m.Floor > m.Revision+1 || max(m.SessionsIndex, m.TombstoneFloor) > m.Revision:
		return meta{}, damaged("meta record of slot %d: %w", slot, errRecord)
	case m.ACLRevision > max(m.Revision, FirstRevision) || max(m.ACLNarrowed, m.ACLBootstrap) > m.ACLRevision:
		return meta{}, damaged("meta record of slot %d: tokens and policies: %w", slot, errRecord)
	}
	return m, nil
}

// checkLevel returns an error unless this release can use a state with the feature level of m.
func (m *meta) checkLevel() error {
	switch {
	case m.Level > NewestLevel:
		return newer(m.Level, m.Release)
	case m.Format != metaFormat:
		return damaged("meta record of slot %d: format %d, this version reads format %d", m.Slot, m.Format, metaFormat)
	}
	return nil
}

// checkKind panics if s is a kind of records that states of m's feature level must not have, because an older release
// could not read it.
func (m *meta) checkKind(s RecordKind) {
	if s.Level() > m.Level {
		panic(fmt.Sprintf("kv: slot %d: a record of kind %d at feature level %d", m.Slot, s, m.Level))
	}
}

// MaxReached bounds the slot, the revision and the number of idempotency keys that a state can have reached. The jumps
// of a million restores and uploads, and a million years of writes, stay below it; above it they would soon wrap.
const MaxReached = 1 << 62

// checkReached returns an error if no state can have reached what m says. It checks only records from outside: the log
// may hold uploads that an earlier release has let in, and all nodes must treat them alike.
func (m *meta) checkReached() error {
	if max(m.Slot, m.Revision, m.Next) > MaxReached || m.Eras > maxEra {
		return fmt.Errorf("it says slot %d, revision %d, era %d and idempotency key %d: no state gets above era %d, "+
			"nor above 2^62 of the others, so it was not made by a node of Tenure", m.Slot, m.Revision, m.Eras, m.Next,
			maxEra)
	}
	return nil
}
