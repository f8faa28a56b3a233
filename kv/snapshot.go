package kv

import "fmt"

// Snapshot is the whole state as it was after one slot. It stays so while State moves on, and holds a view of the
// state database until Close: keep it short, for an old view keeps the disk from reusing pages. Used by one goroutine
// at a time.
type Snapshot struct {
	layers     layers
	sessions   sessions
	fences     fences
	tombstones tombstones
	quotas     quotas
	acl        *ACL
	applied    uint64
	revision   uint64
	expiring   int // keys
}

// Snapshot returns the state as it is now; the caller closes it. It copies no entry: later writes copy the nodes of the
// memtable that they touch. It counts as a write to s (it must not run beside Get).
func (s *State) Snapshot() (*Snapshot, error) {
	stateDB, err := s.exec.entries.source.View()
	if err != nil {
		return nil, fmt.Errorf("kv: open a view of the state database: %w", err)
	}
	x := &s.exec
	return &Snapshot{
		layers:   layers{active: x.entries.active.Copy(), frozen: x.entries.frozen, stateDB: stateDB},
		sessions: x.reg.sessions.copy(), fences: x.reg.fences.copy(), tombstones: x.reg.tombstones.copy(),
		quotas: x.reg.quotas.copy(), acl: x.reg.acl,
		applied: s.applied, revision: x.revision, expiring: x.reg.times.expiry.Len(),
	}, nil
}

// Get returns the entry of key. It stays valid after Close. An error is damage.
func (v *Snapshot) Get(key string) (Entry, bool, error) { return v.layers.get(key) }

// Revision returns that of the newest change in v, 1 if there was never one.
func (v *Snapshot) Revision() uint64 { return v.revision }

// Applied returns the slot after which v was taken.
func (v *Snapshot) Applied() uint64 { return v.applied }

// Expiring returns how many keys have a time to live.
func (v *Snapshot) Expiring() int { return v.expiring }

// Overtaken reports whether so much was written to the state database since v was taken that v should be closed.
func (v *Snapshot) Overtaken() bool { return v.layers.stateDB.Overtaken() }

// Close ends the view. Doing it again does nothing; reading after it panics.
func (v *Snapshot) Close() {
	if v.layers.stateDB != nil {
		v.layers.stateDB.Close()
	}
	v.layers = layers{}
}
