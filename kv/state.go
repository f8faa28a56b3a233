package kv

import "fmt"

// State is the state machine. See the package comment for which calls exclude which. After an error of any of its
// methods it must not be used again: the state database is damaged and part of a slot may have been applied.
type State struct {
	applied    uint64
	exec       executor
	compounds  compounds
	dedup      dedup
	checkpoint checkpoint
	command    Command // scratch of Apply
	parts      []Part  // space for its parts
}

// Open returns the state that src holds. l must be the same on all nodes and in all runs (see Limits). It reads the
// idempotency keys and the registers, not the entries. An error wraps ErrDamaged or comes from src.
func Open(src Source, l Limits) (*State, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	slot, record, err := src.Loaded()
	if err != nil {
		return nil, fmt.Errorf("kv: read the state database's slot: %w", err)
	}
	m, err := decodeMeta(slot, record)
	if err != nil {
		return nil, err
	}
	if m.Eras > maxEra {
		return nil, damaged("meta record of slot %d: era %d is above %d, the last one", slot, m.Eras, maxEra)
	}
	s := &State{applied: slot, dedup: newDedup(l), checkpoint: checkpoint{newest: m}}
	s.exec = executor{ledger: ledger{revision: m.Revision}, limits: l,
		entries: entries{source: src, active: newMemtable()}}
	if err := s.load(&m); err != nil {
		return nil, fmt.Errorf("kv: read the tables of slot %d: %w", slot, err)
	}
	return s, nil
}

// load reads from the state database what is in memory whole.
func (s *State) load(m *meta) error {
	view, err := s.exec.entries.source.View()
	if err != nil {
		return err
	}
	defer view.Close()
	if err := s.dedup.read(view, m); err != nil {
		return err
	}
	if s.exec.reg, err = loadRegisters(view, m); err != nil {
		return err
	}
	s.checkpoint.tombstones, s.checkpoint.quotas = s.exec.reg.tombstones.copy(), s.exec.reg.quotas.copy()
	return nil
}

// Applied returns the slot that was applied last, 0 if none was.
func (s *State) Applied() uint64 { return s.applied }

// Revision returns that of the newest change, 1 if there was never one.
func (s *State) Revision() uint64 { return s.exec.revision }

// TableBytes returns about the memory held by changes that are not in the state database yet, those being checkpointed
// included. Memory held only by open Snapshots is not in it. The runner bounds it by checkpointing, and by taking no
// more writes.
func (s *State) TableBytes() int64 {
	n := s.unwritten()
	if f := s.checkpoint.frozen; f != nil {
		n += f.bytes
	}
	return n
}

// unwritten returns the bytes of what came since the last Freeze.
func (s *State) unwritten() int64 {
	return s.exec.entries.bytes + s.exec.reg.changes.bytes + s.dedup.bytes
}

// Get returns the newest entry of key. It changes nothing in s: any number of goroutines may call it at a time. An
// error is damage.
func (s *State) Get(key string) (Entry, bool, error) { return s.exec.entries.get(key) }
