package kv

import "fmt"

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
