package web

import "time"

// recheckIndex is how often a stale query that waits asks again whether its index is of this store, while no master
// answers.
const recheckIndex = 10 * time.Second

// ofAnotherStore reports whether index is above the store's revision, and returns that revision. Another store gave
// such an index: one that was at this address before, say. Every change is hidden behind it until the revision has
// passed it, so its client must be told at once.
//
// A client may have its index from a node that is ahead of this one. So the decision uses a revision as new as the
// master's, for every mode of the query. No node shows a revision before the master has applied it, so every index that
// this store gave before the request is at or below the master's revision. An error says that no master answered within
// timeout, and the question stays open.
func (w *waits) ofAnotherStore(index uint64, timeout time.Duration) (revision uint64, foreign bool, err error) {
	if applied, err := w.hub.Newest(); err == nil && index <= applied {
		return applied, false, nil
	}
	revision, err = w.service.CatchUp(timeout)
	return revision, err == nil && index > revision, err
}

// queryIndex is the index of a blocking query, and what is known of it.
type queryIndex struct {
	n       uint64
	stale   bool // the query works without a master
	decided bool
	foreign bool // of another store: the query is answered with what there is, whose index is lower
}

// decide finds out whether i is of another store, unless that is known. If no master answers, a query that needs one
// gets the error. A stale query goes on, and decides when it looks again.
func (w *waits) decide(i *queryIndex, timeout time.Duration) error {
	if i.decided {
		return nil
	}
	_, foreign, err := w.ofAnotherStore(i.n, timeout)
	if err != nil && i.stale {
		return nil
	}
	i.decided, i.foreign = err == nil, foreign
	return err
}

// recheck returns when to look again though nothing has changed; nil: never.
func (i *queryIndex) recheck() <-chan time.Time {
	if i.decided {
		return nil
	}
	return time.After(recheckIndex)
}
