package replica

import (
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Reports are what other nodes have said of their health since the log part last took it. The elector looks here while
// the log hangs (M6).
type Reports struct {
	newest []voterHealth // at most one of a node
}

// Hear takes what a node says of itself.
func (r *Reports) Hear(now time.Duration, from ballot.NodeID, said Health) {
	r.newest = slices.DeleteFunc(r.newest, func(x voterHealth) bool { return x.node == from })
	r.newest = append(r.newest, voterHealth{node: from, health: said, at: now})
}

// Take removes the reports, and appends them to events.
func (r *Reports) Take(events []Event) []Event {
	for _, x := range r.newest {
		events = append(events, Event{Health: &x.health, From: x.node, Heard: x.at})
	}
	r.newest = r.newest[:0]
	return events
}

// Able returns the reading of the newest report by which a voter is able or fit, 0 without one. Only a voter could be
// master.
func (r *Reports) Able(voters quorum.Set) (at time.Duration) {
	for _, x := range r.newest {
		if voters.Has(x.node) && fit(x.health) {
			at = max(at, x.at)
		}
	}
	return at
}
