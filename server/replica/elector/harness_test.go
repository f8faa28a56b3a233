package elector

import (
	"time"

	"tenure/internal/ballot"
	"tenure/lease"
	"tenure/server/replica/effect"
)

const testLease = 200 * time.Millisecond

var testTiming = lease.Timing{MaxMaster: testLease, MaxUser: time.Second, DriftPPM: 10_000,
	Margin: 5 * time.Millisecond}

// driven is an elector that rounds of its driver step, and what they have sent.
type driven struct {
	*Part
	round    *Round
	messages []lease.Message
	unable   bool // the log part bars attempts
}

func drive(e *Part) *driven {
	return &driven{Part: e, round: NewRound(e)}
}

// give makes a round at now of an event; none of its fields set: of the timer.
func (d *driven) give(now time.Duration, e Event) {
	for {
		switch d.round.Next() {
		case effect.Take:
			d.round.Add(e)
		case effect.Clock:
			d.round.Read(now, View{Barred: d.unable})
		case effect.Send:
			d.messages = append(d.messages, d.round.Messages()...)
		case effect.Done:
			return
		}
	}
}

// hear gives a message.
func (d *driven) hear(now time.Duration, m lease.Message) {
	d.give(now, Event{Message: &m})
}

// releases gives the command to release the lease.
func (d *driven) releases(now, standBack time.Duration, why Cause) {
	d.give(now, Event{Release: &Release{StandBack: standBack, Why: why}})
}

// hearCrash gives the report of a guardian, and reports whether that has cleared a record.
func (d *driven) hearCrash(now time.Duration, owner ballot.Incarnation, counters []uint64) bool {
	d.give(now, Event{Crash: &Crash{Owner: owner, Counters: counters}})
	return d.round.Cleared()
}

// sent returns what was sent since the last call.
func (d *driven) sent() []lease.Message {
	messages := d.messages
	d.messages = nil
	return messages
}
