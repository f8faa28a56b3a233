package elector

import (
	"time"

	"tenure/internal/ballot"
	"tenure/lease"
	"tenure/server/members"
	"tenure/server/replica/effect"
)

// Event is one input of the elector. At most one of its fields is set; none: the timer.
type Event struct {
	Message   *lease.Message
	Nudged    bool          // the master would like this node to try
	StandBack time.Duration // the master would like another one to try first
	Release   *Release
	Crash     *Crash
	LetGo     LetGo // with Tenure 0: none
	// Membership is in force on this node: chosen, applied and durable.
	Membership *members.InForce
}

// MaxEvents bounds the events that wait for a round. Where there is no space the newest is dropped: lease messages are
// resent.
const MaxEvents = 1024

// Release has the lease given up (P6). The log part has stepped down.
type Release struct {
	StandBack time.Duration // this node does not try for so long
	Why       Cause         // one of those that are releases
	Next      ballot.NodeID // who should try first; 0: whoever likes to
}

// Crash is a guardian's report that its process has died (P7).
type Crash struct {
	Owner    ballot.Incarnation
	Counters []uint64
}

// Round drives the elector, as replica.LogRound drives the log part. A round is one event.
type Round struct {
	part  *Part
	at    int // in order
	clock effect.ClockStep
	event Event
	out   []lease.Message

	letGo, cleared bool
}

type step func(*Round) effect.Effect

// order is the order of a round. The clock is read after the event was taken: an acceptor that counted an
// exclusion from before the Accept had come would end it too early (T2). Before any message leaves, the new state of
// the lease is published and the guardian's note is written. So nobody acts as owner any more when its Release leaves
// (P6), and the guardian can release every Accept that leaves (P7).
var order = []step{
	(*Round).begin,
	(*Round).readClock,
	(*Round).handle,
	(*Round).publish,
	(*Round).tenures,
	(*Round).note,
	(*Round).send,
	(*Round).inForce,
	(*Round).timer,
}

// NewRound returns the driver of an elector before its first round.
func NewRound(e *Part) *Round { return &Round{part: e} }

// Next goes on to the next effect.
func (r *Round) Next() effect.Effect {
	r.clock.MustHaveRead()
	for r.at < len(order) {
		step := order[r.at]
		r.at++
		if e := step(r); e != 0 {
			return e
		}
	}
	r.at = 0
	return effect.Done
}

// Add hands the event of the round over, as the answer to effect.Take.
func (r *Round) Add(e Event) { r.event = e }

// Read hands a reading of the node's elapsed clock over, as the answer to effect.Clock, and what the rest of the node
// shows by now.
func (r *Round) Read(now time.Duration, v View) {
	r.clock.Read(now)
	r.part.look(now, v)
}

// Event is what the round is about. A round of the timer may let go of the lease; that is then its event.
func (r *Round) Event() *Event { return &r.event }

// Now is the newest reading of the clock.
func (r *Round) Now() time.Duration { return r.clock.Now() }

// State is what effect.Lease publishes.
func (r *Round) State() State { return r.part.State(r.clock.Now()) }

// Messages is what effect.Send sends. With a Release that has a Next, the hint to all peers goes first.
func (r *Round) Messages() []lease.Message { return r.out }

// HasLetGo reports whether the event had the lease released because its holder gets nowhere (M6).
func (r *Round) HasLetGo() bool { return r.letGo }

// Cleared reports whether the event, a guardian's report, cleared a live record here.
func (r *Round) Cleared() bool { return r.cleared }

// InForce is what effect.InForce tells, as Part.InForce has it at the newest reading.
func (r *Round) InForce() (number uint64, excluding time.Duration) {
	return r.part.InForce(r.clock.Now())
}

// Wake is when the next round is due.
func (r *Round) Wake() time.Duration { return r.part.nextWake(r.clock.Now()) }

func (r *Round) begin() effect.Effect {
	r.event, r.out, r.letGo, r.cleared = Event{}, nil, false, false
	return effect.Take
}

func (r *Round) readClock() effect.Effect { return r.clock.Ask() }

// handle gives the event to the elector, and then does what is due.
func (r *Round) handle() effect.Effect {
	l, e, now := r.part, &r.event, r.clock.Now()
	if *e == (Event{}) {
		e.LetGo = l.finds(now)
	}
	switch {
	case e.Message != nil:
		if !l.view.Distrusted {
			l.handle(now, *e.Message)
		}
	case e.Nudged:
		l.nudge(now)
	case e.StandBack > 0:
		l.standBack(now, e.StandBack)
	case e.Release != nil:
		l.release(now, e.Release.StandBack, e.Release.Why)
	case e.Crash != nil:
		r.cleared = l.crashReleased(now, e.Crash.Owner, e.Crash.Counters)
	case e.LetGo.Tenure != 0:
		r.letGo = l.letGo(now, e.LetGo)
	case e.Membership != nil:
		l.setMembership(now, *e.Membership)
	}
	l.tick(now)
	r.out = l.drain()
	return 0
}

func (r *Round) publish() effect.Effect { return effect.Lease }

func (r *Round) tenures() effect.Effect { return effect.Tenures }

func (r *Round) note() effect.Effect { return effect.Note }

func (r *Round) send() effect.Effect {
	return effect.Send.Unless(len(r.out) == 0 && r.event.Release == nil)
}

func (r *Round) inForce() effect.Effect {
	return effect.InForce.Unless(r.event.Membership == nil)
}

func (r *Round) timer() effect.Effect { return effect.Timer }
