package leases

import (
	"time"

	"tenure/internal/ballot"
	"tenure/lease/named"
	"tenure/server/members"
	"tenure/server/replica/effect"
)

// Event is one input of the part for named leases. Exactly one of its fields is set (From belongs to Batch), or
// none: then it only makes a round happen. What it points to belongs to the part from then on.
type Event struct {
	Batch   *Batch
	From    ballot.Incarnation // of Batch
	Request *Request
	Cancel  uint64       // the client of the request with this ID waits no more: no attempt for it goes on for long
	Era     uint32       // the log has allotted it to this very run (N3)
	Bucket  named.Bucket // is durable (N4)
	Stop    bool
	Call    func(now time.Duration)
	// Membership is in force on this node: chosen, applied and durable.
	Membership *members.InForce
}

// Round drives the part for named leases, as replica.LogRound drives the log part.
type Round struct {
	part    *Part
	at      int // in order
	clock   effect.ClockStep
	events  []*Event
	asking  bool // an era was asked for and has not come
	telling bool // a membership came, and effect.InForce has not told of it

	distrusted bool // the clock cannot be trusted

	batches []Batch
	answers []Answer
	bucket  named.Bucket
}

type step func(*Round) effect.Effect

// order is the order of a round. The clock is read after the events were taken (T2), as in the rounds of
// all parts.
var order = []step{
	(*Round).begin,
	(*Round).readClock,
	(*Round).handle,
	(*Round).send,
	(*Round).reply,
	(*Round).inForce,
	(*Round).nextBucket,
	(*Round).era,
	(*Round).timer,
}

// NewRound returns the driver of a part for named leases before its first round.
func NewRound(l *Part) *Round { return &Round{part: l} }

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

// Add hands an event over, as an answer to effect.Take. It is the round's until effect.Done.
func (r *Round) Add(e *Event) { r.events = append(r.events, e) }

// Read hands a reading of the node's elapsed clock over, as the answer to effect.Clock, and whether that clock cannot
// be trusted. While it cannot, messages are dropped, and all requests but releases are refused.
func (r *Round) Read(now time.Duration, distrusted bool) {
	r.clock.Read(now)
	r.distrusted = distrusted
}

// Now is the newest reading of the clock.
func (r *Round) Now() time.Duration { return r.clock.Now() }

// Batches is what effect.Send sends.
func (r *Round) Batches() []Batch { return r.batches }

// Answers is what effect.Reply gives to those who wait.
func (r *Round) Answers() []Answer { return r.answers }

// Bucket is what effect.Bucket makes durable.
func (r *Round) Bucket() named.Bucket { return r.bucket }

// InForce is what effect.InForce tells, as Part.InForce has it at the newest reading.
func (r *Round) InForce() (number uint64, excluding time.Duration) {
	return r.part.InForce(r.clock.Now())
}

// Wake is when the next round is due.
func (r *Round) Wake() time.Duration { return r.part.nextWake() }

func (r *Round) begin() effect.Effect {
	clear(r.events)
	r.events, r.batches, r.answers = r.events[:0], nil, nil
	return effect.Take
}

func (r *Round) readClock() effect.Effect { return r.clock.Ask() }

// handle gives the events to the part, in their order, and then does what is due.
func (r *Round) handle() effect.Effect {
	for _, e := range r.events {
		r.handleOne(e)
	}
	r.part.tick(r.clock.Now())
	r.batches, r.answers = r.part.out.drain()
	return 0
}

func (r *Round) handleOne(e *Event) {
	l, now := r.part, r.clock.Now()
	switch {
	case e.Batch != nil:
		if !r.distrusted {
			l.receive(now, e.From, e.Batch)
		}
	case e.Request != nil && r.distrusted && e.Request.Op != Release:
		l.out.answers = append(l.out.answers, Answer{ID: e.Request.ID, Outcome: NotApplied, Reason: Distrusted})
	case e.Request != nil:
		l.request(now, e.Request.takenAt(now))
	case e.Cancel != 0:
		l.cancel(e.Cancel)
	case e.Era != 0:
		r.asking = false
		l.open(e.Era)
	case e.Bucket != (named.Bucket{}):
		l.table.BucketDurable(e.Bucket)
	case e.Stop:
		l.stop()
	case e.Call != nil:
		e.Call(now)
	case e.Membership != nil:
		r.telling = true
		l.setMembership(now, *e.Membership)
	}
}

func (r *Round) send() effect.Effect { return effect.Send.Unless(len(r.batches) == 0) }

func (r *Round) reply() effect.Effect { return effect.Reply.Unless(len(r.answers) == 0) }

// inForce waits until the exclusions of older stamps are counted.
func (r *Round) inForce() effect.Effect {
	if !r.telling || r.part.counting {
		return 0
	}
	r.telling = false
	return effect.InForce
}

func (r *Round) nextBucket() effect.Effect {
	b, ok := r.part.table.NextBucket(r.clock.Now())
	r.bucket = b
	return effect.Bucket.Unless(!ok)
}

func (r *Round) era() effect.Effect {
	if r.asking || !r.part.needsEra() {
		return 0
	}
	r.asking = true
	return effect.Era
}

func (r *Round) timer() effect.Effect { return effect.Timer }
