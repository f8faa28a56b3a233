package sim

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/lease/named"
	"tenure/server/replica"
)

// namedPart is a process' part for named leases, and the loop that steps it.
type namedPart struct {
	part     *replica.Leases
	in       []namedEvent
	busy     bool          // the processor was lost after the clock was read
	timer    time.Duration // true time of the timer that is set; 0: none
	timers   uint64
	calls    []*leaseCall // that wait for their answer
	asking   bool         // the log is being asked for an era
	eraAsked int
	silence  time.Duration
	writing  named.Bucket // is being made durable
}

// namedEvent is one input of the loop; none is the timer.
type namedEvent struct {
	batch  *replica.LeaseBatch
	from   ballot.Incarnation // of batch
	call   *leaseCall
	era    uint32
	bucket named.Bucket // is durable
	stop   bool
}

// openNamed builds the part, in runs with named leases.
func (n *node) openNamed() (err error) {
	p, w := n.process, n.w
	if w.plan.leasers.count == 0 {
		return nil
	}
	l := &w.plan.leasers
	p.named.part, err = replica.NewLeases(replica.LeasesConfig{Self: p.self, Voters: w.plan.part.Core.Voters, MaxTasks: l.tasks, Seed: w.leasing.next(),
		Table: named.Config{Timing: w.plan.timing, Quarantine: p.begun + p.named.silence, Bucket: n.disk.bucket,
			BucketLinger: l.bucketLinger, MaxRecords: l.records, Linger: l.linger, Width: l.width}}, p.begun)
	return err
}

// namedInput queues an event for the loop.
func (n *node) namedInput(e namedEvent) {
	n.process.named.in = append(n.process.named.in, e)
	n.namedLoop()
}

// namedLoop takes what is there in rounds. The clock is read once for each, after everything of the round was there: counted from
// an older reading, an exclusion could end before the ownership that it guards. Then the processor may be lost.
func (n *node) namedLoop() {
	for n.process != nil && !n.named.busy && len(n.named.in) > 0 {
		p := n.process
		events, now := p.named.in, n.reading()
		p.named.in = nil
		if d, lost := n.namedGap(); lost {
			p.named.busy = true
			n.w.at(n, kindNamedLater, d, func() {
				p.named.busy = false
				n.namedRound(now, events)
				n.namedLoop()
			})
			return
		}
		n.namedRound(now, events)
	}
}

// namedGap is gap, from the stream of named leases.
func (n *node) namedGap() (time.Duration, bool) {
	w := n.w
	if w.phase != phaseFaults || !w.leasing.chance(w.plan.gaps) {
		return 0, false
	}
	if w.plan.on(Lag) && w.leasing.chance(w.plan.longGaps) {
		return w.leasing.skewed(time.Millisecond, 3*w.plan.lease), true
	}
	return w.leasing.skewed(5*time.Microsecond, 500*time.Microsecond), true
}

// namedRound is the shell's.
func (n *node) namedRound(now time.Duration, events []namedEvent) {
	m := &n.process.named
	for i := range events {
		n.namedTake(now, &events[i])
	}
	m.part.Tick(now)
	batches, answers := m.part.Take()
	for i := range batches {
		n.w.sendNamed(n, &batches[i])
	}
	for _, a := range answers {
		m.answer(n, a)
	}
	if b, ok := m.part.NextBucket(now); ok {
		n.writeBucket(b)
	}
	if m.part.NeedsEra() && !m.asking {
		m.asking = true
		n.askEra()
	}
	n.setNamedTimer(m.part.NextWake() - now)
}

func (n *node) namedTake(now time.Duration, e *namedEvent) {
	m := &n.process.named
	switch {
	case e.batch != nil:
		m.part.Receive(now, e.from, e.batch)
	case e.call != nil:
		e.call.request.Until = now + e.call.wait + n.w.plan.leasers.patience
		if e.call.wait > 0 {
			e.call.request.WaitUntil = now + e.call.wait
		}
		m.calls = append(m.calls, e.call)
		m.part.Request(now, e.call.request)
	case e.era != 0:
		m.asking = false
		n.w.oracle.opens(n, e.era)
		m.part.Open(e.era)
	case e.bucket != (named.Bucket{}):
		m.part.BucketDurable(e.bucket)
	case e.stop:
		m.part.Stop()
	}
}

// writeBucket makes b durable, which takes its time.
func (n *node) writeBucket(b named.Bucket) {
	n.process.named.writing = b
	n.w.at(n, kindNamedLater, n.w.leasing.skewed(20*time.Microsecond, n.w.plan.lease/2), func() {
		n.disk.bucket, n.named.writing = b, named.Bucket{}
		n.w.counts.Buckets++
		n.namedInput(namedEvent{bucket: b})
	})
}

// loseBucket is a crash in the middle of that: it is there or it is not.
func (n *node) loseBucket() {
	if b := n.named.writing; b != (named.Bucket{}) && n.w.leasing.chance(500) {
		n.disk.bucket = b
	}
}

// answer hands an answer to the handler that waits for it.
func (m *namedPart) answer(n *node, a replica.LeaseAnswer) {
	for i, c := range m.calls {
		if c.request.ID == a.ID {
			m.calls = append(m.calls[:i], m.calls[i+1:]...)
			c.tell(&a)
			return
		}
	}
	n.w.fail("one answer", "node %d answers lease request %d, which does not wait", n.id, a.ID)
}

// cutOff is the end of the process for those that wait.
func (m *namedPart) cutOff() {
	for _, c := range m.calls {
		c.tell(&replica.LeaseAnswer{Outcome: replica.LeaseUnknown})
	}
	m.calls = nil
}

// setNamedTimer lets the loop wake up after d, as setTimer does for the lease loop.
func (n *node) setNamedTimer(d time.Duration) {
	w, m := n.w, &n.process.named
	at := w.now + n.clock.span(max(d, 0)) + w.leasing.between(0, 100*time.Microsecond)
	if m.timer > w.now && m.timer <= at {
		return
	}
	m.timer = at
	m.timers++
	serial := m.timers
	w.at(n, kindNamedTimer, at-w.now, func() {
		if m.timers == serial {
			m.timer = 0
			n.namedInput(namedEvent{})
		}
	})
}

// sendNamed sends what a node has for another, with the faults of lease messages: more than a connection would do.
func (w *world) sendNamed(from *node, b *replica.LeaseBatch) {
	to, r := w.node(b.To), &w.leasing
	copies := 1
	if w.phase == phaseFaults && w.plan.on(Drop) && r.chance(w.plan.dropping) {
		return
	}
	if w.phase == phaseFaults && w.plan.on(Duplicate) && r.chance(w.plan.doubling) {
		copies = 2
	}
	self := from.self
	for i := range copies {
		d := w.plan.hop + r.between(0, w.plan.hop/4)
		if w.phase == phaseFaults && w.plan.on(Reorder) {
			d += r.between(0, w.plan.jitter)
		}
		if w.phase == phaseFaults && w.plan.on(Delay) && r.chance(w.plan.delaying) {
			d += r.between(0, w.plan.delay)
		}
		if i == 1 {
			d += r.skewed(0, w.plan.lease)
		}
		if !to.up() {
			continue
		}
		w.at(to, kindNamed, d, func() {
			if w.passes(from, to) && w.admits(from, to) {
				w.mixNamed(b)
				to.namedInput(namedEvent{batch: b, from: self})
			}
		})
	}
}

func (w *world) mixNamed(b *replica.LeaseBatch) {
	for i := range b.Requests {
		q := &b.Requests[i]
		w.trace.mix(uint64(q.Kind), q.Counter, uint64(q.Token))
		if w.trace.on() {
			w.trace.note("%v %q #%d token %v", q.Kind, leaseText(q.Name), q.Counter, q.Token)
		}
	}
	for i := range b.Replies {
		r := &b.Replies[i]
		w.trace.mix(uint64(r.Kind), r.Counter, uint64(r.Report))
		if w.trace.on() {
			w.trace.note("%v %q #%d report %v live %v %v", r.Kind, leaseText(r.Name), r.Counter, r.Report, r.Live, r.LiveToken)
		}
	}
}

// eraRetry is how long a node waits before it asks the log for an era again.
const eraRetry = 20 * time.Millisecond

// askEra has the log allot an era to this run, however long that takes, as the shell does.
func (n *node) askEra() {
	w, p := n.w, n.process
	c := &client{w: w, id: 400 + n.i, at: n}
	key := func() {
		p.named.eraAsked++
		c.command = kv.Command{Op: kv.OpNewEra, IdemKey: eraKey(p.self, p.named.eraAsked), Base: p.state.Revision()}
	}
	key()
	c.probing = func(ans *answer) {
		switch {
		case n.process != p:
			return
		case ans.outcome == replica.Done && ans.result.Code == kv.CodeDone:
			n.namedInput(namedEvent{era: uint32(ans.result.Count)})
			return
		case ans.outcome == replica.Done:
			key()
		}
		w.at(n, kindLeaser, eraRetry, func() { n.eraOnce(c) })
	}
	w.at(n, kindLeaser, 0, func() { n.eraOnce(c) })
}

// eraOnce is one attempt. Its answer comes to the node itself; only if that is paused does it wait.
func (n *node) eraOnce(c *client) {
	n.w.nextID++
	c.attempt = n.w.nextID
	a := &attempt{client: c, serial: c.attempt, command: kv.EncodeCommand(&c.command), keyed: true}
	a.arrive(n, time.Second)
}

func eraKey(run ballot.Incarnation, number int) string {
	return fmt.Sprintf("%s.%d", runKey(run), number)
}

// runKey names a run and no other.
func runKey(run ballot.Incarnation) string {
	return fmt.Sprintf("era %d.%d.%016x", run.Node, run.Restart, run.Nonce)
}
