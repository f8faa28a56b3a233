package sim

import (
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/lease/named"
	"tenure/server/members"
	"tenure/server/replica"
	"tenure/server/replica/effect"
	"tenure/server/replica/leases"
)

// leasesLoop is the loop of named leases of one process: it carries out the effects of their driver.
type leasesLoop struct {
	*machine
	own        uint64  // the run that the loop belongs to
	leasing    *random // shared by everything about named leases
	disk       *drive
	net        *network
	end        *endpoint
	owners     *leaseOwners
	self       ballot.Incarnation
	askEra     func()
	distrusted func() bool // the clock cannot be trusted
	inForce    func(part int, number uint64, excluding time.Duration)
	era        replica.EraAsk

	part    *leases.Part
	round   *leases.Round
	effect  effect.Effect // to be carried out next
	inbox   []namedEvent
	busy    bool // somebody runs the loop, or the processor was lost in it
	timer   timer
	calls   []*leaseCall // that wait for their answer
	writing named.Bucket // is being made durable
	accepts accepts
}

// namedEvent is one input of the loop; the zero event is the timer.
type namedEvent struct {
	batch   *leases.Batch
	from    ballot.Incarnation // of batch
	call    *leaseCall
	era     uint32
	bucket  named.Bucket // is durable
	stop    bool
	members *members.InForce

	came time.Duration // reading of the node's clock
}

// put queues an event for the loop.
func (l *leasesLoop) put(e namedEvent) {
	e.came = l.reading()
	l.inbox = append(l.inbox, e)
	l.loop()
}

// loop runs until no event waits, the processor is lost, or the process has ended. The processor may be lost between
// any two effects.
func (l *leasesLoop) loop() {
	if l.busy {
		return
	}
	l.busy = true
	for l.running && l.run == l.own && (l.effect != effect.Take || len(l.inbox) > 0) {
		l.do(l.effect)
		l.effect = l.round.Next()
		if d, _ := l.gap(l.leasing, l.effect); d > 0 && l.effect != effect.Take {
			l.later(kindNamedLater, d, func() {
				l.busy = false
				l.loop()
			})
			return
		}
	}
	l.busy = false
}

// do carries out an effect.
func (l *leasesLoop) do(e effect.Effect) {
	switch e {
	case effect.Take:
		for i := range l.inbox {
			l.round.Add(l.event(&l.inbox[i]))
		}
		clear(l.inbox)
		l.inbox = l.inbox[:0]
	case effect.Clock:
		l.round.Read(l.reading(), l.distrusted())
	case effect.Send:
		batches := l.round.Batches()
		for i := range batches {
			l.checkExcludes(&batches[i])
			l.net.sendNamed(l.end, &batches[i])
		}
	case effect.Reply:
		for _, a := range l.round.Answers() {
			l.answer(a)
		}
	case effect.InForce:
		number, excluding := l.round.InForce()
		l.inForce(1, number, excluding)
	case effect.Bucket:
		l.write(l.round.Bucket())
	case effect.Era:
		l.askEra()
	case effect.Timer:
		l.setTimer(l.round.Wake() - l.round.Now())
	}
}

// event returns e as the driver takes it.
func (l *leasesLoop) event(e *namedEvent) *leases.Event {
	out := &leases.Event{Batch: e.batch, From: e.from, Era: e.era, Bucket: e.bucket, Stop: e.stop,
		Membership: e.members}
	if c := e.call; c != nil {
		c.request.Wait, c.request.Timeout = c.wait, l.plan.leasers.timeout
		l.calls = append(l.calls, c)
		out.Request = &c.request
	}
	if e.batch != nil {
		l.accepts.note(e)
	}
	if e.era != 0 {
		l.owners.opens(l.self, l.era.Keys, e.era)
	}
	return out
}

// checkExcludes checks the answers to Accepts in a batch as it leaves: others are excluded for D_A from when each
// Accept came (T2). A record that is another one's by now was released; so may one be that has come by a newer Accept
// of the same acquisition, in the same round.
func (l *leasesLoop) checkExcludes(b *leases.Batch) {
	for i := range b.Replies {
		r := &b.Replies[i]
		a, ok := l.accepts.newest(b.To, r)
		if !ok {
			continue
		}
		if h, live := l.part.Live(a.came, r.Name); live && h.Acquisition == a.acquisition {
			l.mustExclude(leaseText(r.Name), a.came, a.length, h.Left)
		}
	}
}

// write makes a bucket durable, which takes its time.
func (l *leasesLoop) write(b named.Bucket) {
	l.writing = b
	l.later(kindNamedLater, l.leasing.skewed(20*time.Microsecond, l.plan.lease/2), func() {
		l.disk.bucket, l.writing = b, named.Bucket{}
		l.counts.Buckets++
		l.put(namedEvent{bucket: b})
	})
}

// loseBucket is a crash: a bucket that was being written is there or it is not.
func (l *leasesLoop) loseBucket() {
	if l.writing != (named.Bucket{}) && l.leasing.chance(500) {
		l.disk.bucket = l.writing
	}
}

// answer hands an answer to the handler that waits for it.
func (l *leasesLoop) answer(a leases.Answer) {
	i := slices.IndexFunc(l.calls, func(c *leaseCall) bool { return c.request.ID == a.ID })
	if i < 0 {
		l.fail("one answer", "node %d answers lease request %d, which does not wait", l.id, a.ID)
	}
	c := l.calls[i]
	l.calls = slices.Delete(l.calls, i, i+1)
	c.tell(&a)
}

// cutOff is the end of the process for the calls that wait, and for those that the loop has not taken.
func (l *leasesLoop) cutOff() {
	inbox, calls := l.inbox, l.calls
	l.inbox, l.calls = nil, nil
	for i := range inbox {
		if c := inbox[i].call; c != nil {
			c.tell(&leases.Answer{Outcome: leases.Unknown})
		}
	}
	for _, c := range calls {
		c.tell(&leases.Answer{Outcome: leases.Unknown})
	}
}

// setTimer wakes the loop up after d, as that of the master lease does.
func (l *leasesLoop) setTimer(d time.Duration) {
	at := l.now + l.clock.span(max(d, 0)) + l.leasing.between(0, 100*time.Microsecond)
	if l.timer.at > l.now && l.timer.at <= at {
		return
	}
	l.timer.set(l.machine, kindNamedTimer, at, func() { l.put(namedEvent{}) })
}

// accepts knows the Accepts that a process has taken.
type accepts struct {
	first map[acceptKey]accepted          // never ranged over
	last  map[named.Acquisition]acceptKey // the Accept of an acquisition that came last; never ranged over
}

// acceptKey names an Accept.
type acceptKey struct {
	from    ballot.NodeID
	name    named.Name
	counter uint64
}

// accepted is when an Accept first came, and for how long it asks.
type accepted struct {
	came, length time.Duration
	acquisition  named.Acquisition
}

func newAccepts() accepts {
	return accepts{first: map[acceptKey]accepted{}, last: map[named.Acquisition]acceptKey{}}
}

// note notes the Accepts of a batch.
func (x *accepts) note(e *namedEvent) {
	for i := range e.batch.Requests {
		q := &e.batch.Requests[i]
		k := acceptKey{e.from.Node, q.Name, q.Counter}
		if _, twice := x.first[k]; q.Kind == named.Accept && !twice {
			x.first[k] = accepted{e.came, q.Duration, q.Acquisition}
			x.last[q.Acquisition] = k
		}
	}
}

// newest returns the Accept that a reply answers, if it is the last one of its acquisition.
func (x *accepts) newest(to ballot.NodeID, r *named.Reply) (accepted, bool) {
	k := acceptKey{to, r.Name, r.Counter}
	a, ok := x.first[k]
	return a, ok && r.Kind == named.Accepted && x.last[a.acquisition] == k
}
