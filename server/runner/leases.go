package runner

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/lease/named"
	"tenure/server/members"
	"tenure/server/replica"
	"tenure/server/replica/effect"
	"tenure/server/replica/leases"
	"tenure/server/wire"
	"tenure/storage"
)

// LeasesConfig is what a Leases is made of. All fields are required.
type LeasesConfig struct {
	Part        *leases.Part
	Self        ballot.Incarnation
	SilentUntil time.Duration // reading of the clock before which the acceptor, which was restarted, is silent
	FirstID     uint64        // of requests; another one in each run
	Clock       *clock.Clock
	Store       *storage.Store
	State       *State
	Log         *Log // allots the era of fencing tokens
	Send        Sender
	Lifecycle   *Lifecycle
	Distrusted  func() bool // reports whether the clock cannot be trusted
	Registry    prometheus.Registerer
	Logger      zerolog.Logger
}

// Leases runs the part for named leases, on the goroutine chosen by the inbox, one at a time. It shares nothing with
// the elector, and needs the log only for an era.
type Leases struct {
	cfg     LeasesConfig
	inbox   *inbox[leasesEvent]
	onward  chan struct{}     // the turn to step, handed on; capacity 1
	rearm   chan struct{}     // something is due before armed; capacity 1
	armed   atomic.Int64      // reading of the clock at which the timer fires
	buckets chan named.Bucket // to be made durable; capacity 1, and the part asks for one at a time
	view    atomic.Pointer[leases.Status]
	nextID  atomic.Uint64
	inForce chan replica.PartInForce // one for each membership that enforce was given; capacity 1
	// inForceAtStart is what the acceptor went by when the run began.
	inForceAtStart replica.PartInForce

	era replica.EraAsk // of the goroutine of askEra

	// Of the round under way:
	driver  *leases.Round
	events  []leasesEvent
	replies map[uint64]chan leases.Answer // by request
}

// leasesEvent is one input of the part for named leases on its way to a round.
type leasesEvent struct {
	leases.Event
	reply chan leases.Answer // of a Request; has capacity 1
}

// NewLeases returns a Leases before its first round. It registers its figures.
func NewLeases(c LeasesConfig) *Leases {
	l := &Leases{cfg: c, driver: leases.NewRound(c.Part), era: replica.EraAsk{Self: c.Self},
		inbox: newInbox[leasesEvent](), replies: map[uint64]chan leases.Answer{},
		onward: make(chan struct{}, 1), rearm: make(chan struct{}, 1), buckets: make(chan named.Bucket, 1), inForce: make(chan replica.PartInForce, 1)}
	l.inForceAtStart.Number, l.inForceAtStart.Excluding = c.Part.InForce(c.Clock.Now())
	l.nextID.Store(c.FirstID)
	l.view.Store(&leases.Status{})
	l.inbox.drain = l.drain
	l.registerGauges()
	return l
}

// enforce puts a membership in force. What holds then comes from l.inForce.
func (l *Leases) enforce(m members.InForce) {
	l.inbox.put(leasesEvent{Event: leases.Event{Membership: &m}})
}

// Loops returns the goroutines of named leases.
func (l *Leases) Loops() []Loop { return []Loop{l.run, l.writeBuckets} }

// run keeps the time until stop is closed.
func (l *Leases) run(stop <-chan struct{}) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			l.inbox.end(l.onward)
			return nil
		case <-timer.C:
			l.inbox.put(leasesEvent{})
		case <-l.rearm:
		case <-l.onward:
			for l.turn() {
			}
		}
		// Not at once: if somebody else steps just now, that round arms anew.
		timer.Reset(max(time.Duration(l.armed.Load())-l.cfg.Clock.Now(), time.Millisecond))
	}
}

// drain is a turn of whoever put an event. It does a few rounds and leaves the rest to the loop's own goroutine.
func (l *Leases) drain() {
	defer endOnPanic()
	for range guestRounds {
		if !l.turn() {
			return
		}
	}
	l.inbox.handOn(l.onward)
}

// turn is one round, and reports whether the turn goes on.
func (l *Leases) turn() bool {
	l.round()
	return !l.inbox.release()
}

// round takes all waiting inputs through the part once, in the driver's order.
func (l *Leases) round() {
	for {
		switch l.driver.Next() {
		case effect.Take:
			l.gather()
		case effect.Clock:
			l.driver.Read(l.cfg.Clock.Now(), l.cfg.Distrusted())
		case effect.Send:
			l.send(l.driver.Batches())
		case effect.Reply:
			for _, a := range l.driver.Answers() {
				l.replies[a.ID] <- a
				delete(l.replies, a.ID)
			}
		case effect.InForce:
			number, excluding := l.driver.InForce()
			l.inForce <- replica.PartInForce{Number: number, Excluding: excluding}
		case effect.Bucket:
			l.buckets <- l.driver.Bucket()
		case effect.Era:
			go l.askEra()
		case effect.Timer:
			s := l.cfg.Part.Status(l.driver.Now())
			l.view.Store(&s)
			l.arm(l.driver.Wake())
		case effect.Done:
			clear(l.events) // the inbox uses the array again
			l.events = nil
			return
		}
	}
}

// gather hands the driver everything that waits.
func (l *Leases) gather() {
	l.events = l.inbox.popAll()
	for i := range l.events {
		e := &l.events[i]
		if e.Request != nil {
			l.replies[e.Request.ID] = e.reply
		}
		l.driver.Add(&e.Event)
	}
}

// arm has the timer fire at next at the latest.
func (l *Leases) arm(next time.Duration) {
	if old := l.armed.Swap(int64(next)); int64(next) >= old {
		return
	}
	select {
	case l.rearm <- struct{}{}:
	default:
	}
}

func (l *Leases) send(batches []leases.Batch) {
	for i := range batches {
		b := &batches[i]
		for len(b.Requests) > 0 || len(b.Replies) > 0 {
			l.cfg.Send.SendNamed(b.To, wire.EncodeNamed(b))
		}
	}
}

// writeBuckets makes buckets durable until stop is closed. Lease messages do not wait for it: the acceptor drops
// what needs the new one.
func (l *Leases) writeBuckets(stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case b := <-l.buckets:
			if err := l.cfg.Store.SetBucket(b.Length, b.Quarantine); err != nil {
				return err
			}
			l.inbox.put(leasesEvent{Event: leases.Event{Bucket: b}})
		}
	}
}
