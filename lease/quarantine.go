package lease

import (
	"fmt"
	"time"
)

// Quarantine is A4's plan for one run of a node: the silence of its acceptor, and the length in the start record. With
// that length the next run stays silent for long enough, whatever happens to this one.
type Quarantine struct {
	// Silence is how long this run's acceptor stays silent.
	Silence time.Duration
	// AtStart must be durable before the run sends or answers anything.
	AtStart time.Duration
	// Own is what this run's timing alone would owe.
	Own time.Duration
}

// PlanQuarantine is A4's arithmetic. Stored is the length in the start record of the run before, zero if there is none.
// Bootstrap is true in the run in which the node takes part in its cluster's bootstrap: the node cannot have accepted
// anything before. The error is ErrTiming: bad constants, or a stored length that no run has written.
func PlanQuarantine(stored time.Duration, t Timing, bootstrap bool) (q Quarantine, err error) {
	if err := t.Validate(); err != nil {
		return q, err
	}
	if stored < 0 || stored >= maxSpan {
		return q, fmt.Errorf("%w: the start record holds a quarantine of %v", ErrTiming, stored)
	}
	if q.Own, err = t.Quarantine(); err != nil {
		return q, err
	}
	q.AtStart = max(stored, q.Own)
	if !bootstrap {
		q.Silence = q.AtStart
	}
	return q, nil
}

// Deadline is the reading of the elapsed clock at which the silence ends. Start is a reading taken in this run after
// the data directory was locked: only then is the run before known to be dead.
func (q Quarantine) Deadline(start time.Duration) time.Duration { return start + q.Silence }

// Record is the length that the start record may hold once `elapsed` has passed since `start` (A4): AtStart until the
// silence is over, since two quick restarts must not shorten it, then Own.
func (q Quarantine) Record(elapsed time.Duration) time.Duration {
	if elapsed >= q.Silence {
		return q.Own
	}
	return q.AtStart
}
