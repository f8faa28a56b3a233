package acceptor

import (
	"tenure/internal/ballot"
	"tenure/multipaxos"
	"tenure/storage/internal/sealed"
)

// The buckets and keys of log.db. A record of NodeBucket is one that OpenNode decodes, one of EntryBucket is for
// OpenEntry.
const (
	NodeBucket     = "node"
	acceptorBucket = "acceptor"
	EntryBucket    = "entries"
)

var (
	marksKey = []byte("marks")

	nodeSeed     = sealed.SeedOf(NodeBucket)
	acceptorSeed = sealed.SeedOf(acceptorBucket)
	entrySeed    = sealed.SeedOf(EntryBucket)
)

// Marks is acceptor/marks, written by every commit of log.db.
type Marks struct {
	Promised     ballot.Ballot
	Chosen       multipaxos.Slot
	Truncated    multipaxos.Slot
	Last         multipaxos.Slot // highest slot that ever had an entry, or Truncated
	Entries      sealed.Digest
	Journaled    uint64 // records of the journal up to this number are in log.db, or were cut off
	Generation   uint64 // commits of log.db so far
	JournalBytes int64  // size of the journal; 0: the store never had one
	Seen         uint64 // records of the journal up to this number were durable
}

// Durable returns the marks of the log itself.
func (m *Marks) Durable() multipaxos.Durable {
	return multipaxos.Durable{Promised: m.Promised, Truncated: m.Truncated, Chosen: m.Chosen, Last: m.Last}
}

func (m *Marks) setDurable(d multipaxos.Durable) {
	m.Promised, m.Truncated, m.Chosen, m.Last = d.Promised, d.Truncated, d.Chosen, d.Last
}
