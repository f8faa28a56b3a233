package recovery

import (
	"fmt"
	"time"
)

// The jumps. A new cluster begins above all numbers that the old one may have shown, also after the backup or by nodes
// that are gone. Of two new clusters the later one begins above the earlier one, even if it comes from an older backup.
// So slots, revisions and eras begin at the date, in units that no cluster uses up as fast as time passes. If a wrong
// clock has put a state beyond the date, it jumps by a stated distance instead; there is space for millions of such
// jumps.
const (
	jumpSlots     = 1 << 40
	jumpRevisions = 1 << 40
	jumpEras      = 1 << 16

	perMillisecond = 1 << 11 // slots or revisions; programs that count with 53 bits have enough until 2094
	eraEvery       = 500 * time.Millisecond
	maxEra         = 1<<32 - 1 // until 2093
)

// sinceYear is when the dates of clusters begin.
var sinceYear = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// starts is where the numbers of a new cluster begin.
type starts struct {
	slot, revision, era uint64
}

// startsAt returns where the numbers of a cluster begin that is made at a date of a state with the old numbers.
func startsAt(made time.Time, old starts) (starts, error) {
	date := uint64(max(0, made.Sub(sinceYear).Milliseconds()))
	s := starts{
		slot:     later(old.slot, jumpSlots, date*perMillisecond),
		revision: later(old.revision, jumpRevisions, date*perMillisecond),
		era:      later(old.era, jumpEras, uint64(max(0, made.Sub(sinceYear)/eraEvery))),
	}
	if s.era > maxEra {
		return s, fmt.Errorf("era %d is among the last %d of %d: no lease can be granted after it", old.era, jumpEras,
			maxEra)
	}
	return s, nil
}

// later returns the date if that is above old, and else a number that is above old by jump.
func later(old, jump, date uint64) uint64 {
	if date > old {
		return date
	}
	return old + jump
}

// untilNextEra returns how long it takes until a cluster that is made then begins with another era.
func untilNextEra(made, now time.Time) time.Duration {
	next := made.Sub(sinceYear)/eraEvery + 1
	return max(0, min(next*eraEvery-now.Sub(sinceYear), eraEvery))
}
