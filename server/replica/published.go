package replica

import (
	"time"

	"tenure/server/replica/elector"
)

// Published joins the elector and the log part. It is one value: readers load it whole, so that epoch, deadline
// and readiness always belong together.
type Published struct {
	Tenure   uint64        // number of the unbroken tenure of the master lease; 0: none
	Deadline time.Duration // on the node's elapsed clock: the lease is held while now < Deadline
	Ready    uint64        // the tenure for which the log is recovered and opened (M4); 0: none
	Epoch    uint64        // slot of the barrier entry of that mastership: its fencing token
	Hung     uint64        // the tenure that the elector let go of last because the log hung (M6); 0: none
}

// WithLease is p as the elector republishes it.
func (p Published) WithLease(s elector.State) Published {
	p.Tenure, p.Deadline, p.Hung = s.Tenure, s.Deadline, s.Hung
	return p
}

// WithReady is p as the log part republishes it.
func (p Published) WithReady(tenure, epoch uint64) Published {
	p.Ready, p.Epoch = tenure, epoch
	return p
}

// Held reports whether the lease is held at now. It is read from the stored deadline, never from a flag that a timer
// clears (P4).
func (p Published) Held(now time.Duration) bool { return p.Tenure != 0 && now < p.Deadline }

// HeldAs reports whether the lease is held at now, under that tenure.
func (p Published) HeldAs(tenure uint64, now time.Duration) bool {
	return p.Held(now) && p.Tenure == tenure
}

// Ticket is the first half of a read under the lease.
type Ticket struct{ tenure, epoch uint64 }

// Begin opens a read under the lease: the epoch must be ready. The data is taken after it and before End.
func (p Published) Begin() (Ticket, bool) {
	if p.Tenure == 0 || p.Ready != p.Tenure {
		return Ticket{}, false
	}
	return Ticket{tenure: p.Tenure, epoch: p.Epoch}, true
}

// End closes the read: now is a clock reading made after the data was taken. The answer may be given only if the
// lease is still held and the epoch is the same and still ready.
func (p Published) End(t Ticket, now time.Duration) bool {
	return p.HeldAs(t.tenure, now) && p.Ready == t.tenure && p.Epoch == t.epoch
}
