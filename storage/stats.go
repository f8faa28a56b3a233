package storage

import (
	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/state"
)

// Stats are counts since Open, and what is pending now, of the log and of the state database.
type Stats struct {
	logStats
	stateStats
	Installed uint64 // slot of the snapshot that Open put in the place of the state database; 0: none
}

type (
	logStats   = acceptor.Stats
	stateStats = state.Stats
)

// Stats returns the counts. It is cheap and safe for concurrent use.
func (s *Store) Stats() Stats { return Stats{s.log.Stats(), s.state.Stats(), uint64(s.installed)} }
