package lease

import (
	"time"

	"tenure/internal/ballot"
)

// record is what an acceptor remembers: the promise, and the lease last accepted, if until is ahead.
type record struct {
	promised ballot.Ballot
	owner    ballot.Incarnation
	ballot   ballot.Ballot
	until    time.Duration // end of the exclusion; 0 after a release
}

func (r *record) live(now time.Duration) bool { return now < r.until }

// blocks reports whether r is a live lease of somebody other than owner.
func (r *record) blocks(now time.Duration, owner ballot.Incarnation) bool {
	return r.live(now) && r.owner != owner
}
