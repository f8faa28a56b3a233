package replica

import "time"

// Published joins the lease part and the log part. It is one value: readers load it whole, so that epoch, deadline
// and readiness always belong together.
type Published struct {
	Holding  uint64        // number of the unbroken holding of the master lease; 0: none
	Deadline time.Duration // on the node's elapsed clock: the lease is held while now < Deadline
	Ready    uint64        // the holding for which the log is recovered and opened (M4); 0: none
	Epoch    uint64        // slot of the opening entry of that mastership: its fencing token
}

// WithLease is p as the lease part republishes it.
func (p Published) WithLease(holding uint64, deadline time.Duration) Published {
	p.Holding, p.Deadline = holding, deadline
	return p
}

// WithReady is p as the log part republishes it.
func (p Published) WithReady(holding, epoch uint64) Published {
	p.Ready, p.Epoch = holding, epoch
	return p
}

// Held tells whether the lease is held at now. It is read from the stored deadline, never from a flag that a timer
// clears (P4).
func (p Published) Held(now time.Duration) bool { return p.Holding != 0 && now < p.Deadline }

// Ticket is the first half of a read under the lease.
type Ticket struct{ holding, epoch uint64 }

// Begin opens a read under the lease: the epoch must be ready. The data is taken after it and before End.
func (p Published) Begin() (Ticket, bool) {
	if p.Holding == 0 || p.Ready != p.Holding {
		return Ticket{}, false
	}
	return Ticket{holding: p.Holding, epoch: p.Epoch}, true
}

// End closes the read: now is a clock reading made after the data was taken. The answer may be given only if the
// lease is still held and the epoch is the same and still ready.
func (p Published) End(t Ticket, now time.Duration) bool {
	return p.Held(now) && p.Holding == t.holding && p.Ready == t.holding && p.Epoch == t.epoch
}
