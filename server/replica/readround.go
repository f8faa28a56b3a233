package replica

import (
	"time"

	"tenure/server/replica/effect"
)

// ReadRound drives a read under the lease, from when its epoch was found ready: Published.Begin, or the log part's
// Reply, has given a Ticket. Each read runs one ReadRound: call Next, carry out the effect, and repeat.
type ReadRound struct {
	ticket  Ticket
	at      int // in readOrder
	clock   effect.ClockStep
	granted bool
}

// readOrder is the order of a read under the lease. The clock is read once, after the data was taken: if the lease is
// held then, it was held while the data was taken.
var readOrder = [...]effect.Effect{
	effect.Data,
	effect.Clock,
}

// NewReadRound returns the driver of a read.
func NewReadRound(t Ticket) ReadRound { return ReadRound{ticket: t} }

// Next goes on to the next effect.
func (r *ReadRound) Next() effect.Effect {
	r.clock.MustHaveRead()
	if r.at == len(readOrder) {
		return effect.Done
	}
	e := readOrder[r.at]
	r.at++
	if e == effect.Clock {
		r.clock.Ask()
	}
	return e
}

// Read hands a reading of the node's elapsed clock over, as the answer to effect.Clock, with what was published when,
// or after, it was made.
func (r *ReadRound) Read(now time.Duration, p Published) {
	r.clock.Read(now)
	r.granted = p.End(r.ticket, now)
}

// Granted reports, after effect.Done, whether the data may be shown: the lease is held, in the same epoch. If not, the
// read begins anew.
func (r *ReadRound) Granted() bool { return r.granted }
