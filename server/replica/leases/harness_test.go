package leases

import (
	"time"

	"tenure/lease/named"
	"tenure/server/replica/effect"
)

// driven is a part for named leases that rounds of its driver step, and what they have handed out.
type driven struct {
	*Part
	round      *Round
	distrusted bool // the clock
	batches    []Batch
	replied    []Answer
	bucket     named.Bucket // the newest that is to be made durable
	eras       int          // asked for
	told       int          // memberships that are in force
}

func drive(l *Part) *driven {
	return &driven{Part: l, round: NewRound(l)}
}

// give makes a round at now, with these events.
func (d *driven) give(now time.Duration, events ...Event) {
	for {
		switch d.round.Next() {
		case effect.Take:
			for i := range events {
				d.round.Add(&events[i])
			}
		case effect.Clock:
			d.round.Read(now, d.distrusted)
		case effect.Send:
			d.batches = append(d.batches, d.round.Batches()...)
		case effect.Reply:
			d.replied = append(d.replied, d.round.Answers()...)
		case effect.Bucket:
			d.bucket = d.round.Bucket()
		case effect.InForce:
			d.told++
		case effect.Era:
			d.eras++
		case effect.Done:
			return
		}
	}
}

// sent returns what was sent and answered since the last call.
func (d *driven) sent() ([]Batch, []Answer) {
	batches, answers := d.batches, d.replied
	d.batches, d.replied = nil, nil
	return batches, answers
}
