package lease

import (
	"fmt"
	"time"
)

// Quarantine is A4's plan for one run of a node: how long its acceptor stays silent, and what the start record must
// say so that the next run stays silent for long enough, whatever happens to this one.
type Quarantine struct {
	// Silence is how long this run's acceptor stays silent.
	Silence PerClass
	// AtStart must be durable before the run sends or answers anything.
	AtStart PerClass
	// Own is what this run's timing alone would owe.
	Own PerClass
}

// PlanQuarantine is A4's arithmetic. Stored is what the start record of the run before holds, zero if there is none;
// genesis says that this is the run in which the node takes part in its cluster's genesis, before which it cannot
// have accepted anything. The error is ErrTiming: bad constants, or a stored length that no run has written.
func PlanQuarantine(stored PerClass, t Timing, genesis bool) (Quarantine, error) {
	var q Quarantine
	if err := t.Validate(); err != nil {
		return q, err
	}
	if stored.Master < 0 || stored.User < 0 || stored.Master >= maxSpan || stored.User >= maxSpan {
		return q, fmt.Errorf("%w: the start record holds quarantines of %v and %v", ErrTiming, stored.Master, stored.User)
	}
	var err error
	if q.Own.Master, err = t.Quarantine(ClassMaster); err != nil {
		return q, err
	}
	if q.Own.User, err = t.Quarantine(ClassUser); err != nil {
		return q, err
	}
	q.AtStart = PerClass{max(stored.Master, q.Own.Master), max(stored.User, q.Own.User)}
	if !genesis {
		q.Silence = q.AtStart
	}
	return q, nil
}

// Deadlines are the readings of the elapsed clock at which the silences end. Start is a reading taken in this run after the
// data directory was locked: only then is the run before known to be dead.
func (q Quarantine) Deadlines(start time.Duration) PerClass {
	return PerClass{start + q.Silence.Master, start + q.Silence.User}
}

// Record is what the start record may say once `elapsed` has passed since `start`: a class whose silence is not over
// keeps the longer length (two quick restarts must not shorten it), the others owe only what is this run's own (A4).
func (q Quarantine) Record(elapsed time.Duration) PerClass {
	r := q.AtStart
	if elapsed >= q.Silence.Master {
		r.Master = q.Own.Master
	}
	if elapsed >= q.Silence.User {
		r.User = q.Own.User
	}
	return r
}
