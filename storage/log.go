package storage

import "tenure/multipaxos"

var _ multipaxos.Reader = (*Store)(nil)

// Durable returns what the log holds now; after Open, what this run starts from.
func (s *Store) Durable() multipaxos.Durable { return s.log.Durable() }

// Commit makes ps durable, in their order and all together: one record of the journal, one sync; or, if they are too
// large for it, a transaction of log.db. After an error it is not known whether they are durable, no message that waits
// for them may be sent, and every later call returns the same error. The caller then ends the process. It keeps the
// values of the entries, which nobody changes (see multipaxos.Entry), until they are in log.db, and no other part of
// ps. It panics if ps would lower the promised ballot or the chosen mark, write into a truncated slot, or truncate what
// is not durably checkpointed.
func (s *Store) Commit(ps []multipaxos.Persist) error { return s.log.Commit(ps, s.Checkpointed) }

// Entries implements multipaxos.Reader: the durable entries in [from, through] that exist and are not truncated, in
// slot order, until their values hold maxBytes together. The values are copies, or those that Commit was given.
func (s *Store) Entries(from, through multipaxos.Slot, maxBytes int) ([]multipaxos.Entry, error) {
	return s.log.Entries(from, through, maxBytes)
}
