package replica

import "time"

// ReadRound drives a read under the lease, from when its epoch was found ready: Published.Begin, or the log part's
// Reply, has given a Ticket. Each read runs one ReadRound: call Next, carry out the effect, and repeat.
type ReadRound struct {
	ticket  Ticket
	at      int // in readOrder
	clock   clockStep
	granted bool
}

// readOrder is the order of a read under the lease. The clock is read once, after the data was taken: if the lease is
// held then, it was held while the data was taken.
var readOrder = [...]Effect{
	EffectData,
	EffectClock,
}

// NewReadRound returns the driver of a read.
func NewReadRound(t Ticket) ReadRound { return ReadRound{ticket: t} }

// Next goes on to the next effect.
func (r *ReadRound) Next() Effect {
	r.clock.must()
	if r.at == len(readOrder) {
		return EffectDone
	}
	e := readOrder[r.at]
	r.at++
	if e == EffectClock {
		r.clock.ask()
	}
	return e
}

// Read hands a reading of the node's elapsed clock over, as the answer to EffectClock, with what was published when, or
// after, it was made.
func (r *ReadRound) Read(now time.Duration, p Published) {
	r.clock.read(now)
	r.granted = p.End(r.ticket, now)
}

// Granted reports, after EffectDone, whether the data may be shown: the lease is held, in the same epoch. If not, the
// read begins anew.
func (r *ReadRound) Granted() bool { return r.granted }
