package runner

import (
	"sync"

	"tenure/kv"
)

// State is the applied state behind its lock. The runner of the log holds the lock for writing while it applies one
// batch, and briefly when a checkpoint begins or ends. A reader holds it for one key, or to take a snapshot.
type State struct {
	mu sync.RWMutex
	kv *kv.State
}

// NewState puts s behind a lock. From then on s is used through State and by the log part only.
func NewState(s *kv.State) *State { return &State{kv: s} }

// Get returns the entry of key, and the revision of the state that it was read from. An error is damage.
func (s *State) Get(key string) (e kv.Entry, found bool, revision uint64, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, found, err = s.kv.Get(key)
	return e, found, s.kv.Revision(), err
}

// GetMany calls each with the entry of every key in order, until it returns false. All are of one revision, which
// GetMany returns. The entry of a key that is absent has ModifyIndex 0. An error is damage.
func (s *State) GetMany(keys []string, each func(int, kv.Entry) bool) (revision uint64, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i, key := range keys {
		e, _, err := s.kv.Get(key)
		if err != nil {
			return 0, err
		}
		if !each(i, e) {
			break
		}
	}
	return s.kv.Revision(), nil
}

// Snapshot returns a consistent view of the whole state and its revision. The caller closes it. An error is damage.
func (s *State) Snapshot() (*kv.Snapshot, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snapshot, err := s.kv.Snapshot()
	if err != nil {
		return nil, 0, err
	}
	return snapshot, s.kv.Revision(), nil
}

// Session returns the session of that ID, if there is one.
func (s *State) Session(id string) (kv.Session, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.kv.Session(id)
}

// Sessions returns how many sessions there are.
func (s *State) Sessions() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.kv.SessionCount()
}

// Quotas returns the quotas of prefixes, sorted by prefix. The caller may change the slice.
func (s *State) Quotas() []kv.Quota {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.kv.Quotas()
}

// Revision returns the revision of the state.
func (s *State) Revision() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.kv.Revision()
}

// Point returns the newest applied slot, and the revision of the state after it.
func (s *State) Point() (slot, revision uint64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.kv.Applied(), s.kv.Revision()
}

// locked runs f with the lock held for writing.
func (s *State) locked(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f()
}
