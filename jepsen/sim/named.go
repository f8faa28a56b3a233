package sim

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/lease/named"
	"tenure/server/replica"
	"tenure/server/wire"
)

// namedPart is a process' part for named leases, and the loop that steps it.
type namedPart struct {
	part     *replica.Leases
	round    *replica.LeasesRound
	effect   replica.Effect // to be carried out next
	in       []namedEvent
	accepts  map[acceptKey]accepted          // never ranged over
	newest   map[named.Acquisition]acceptKey // the Accept of an acquisition that came last; never ranged over
	busy     bool                            // somebody runs the loop, or the processor was lost in it
	timer    time.Duration                   // true time of the timer that is set; 0: none
	timers   uint64
	calls    []*leaseCall // that wait for their answer
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

	came time.Duration // reading of the node's clock
}

// acceptKey names an Accept. accepted is when it first came, and for how long it asks.
type (
	acceptKey struct {
		from    ballot.NodeID
		name    named.Name
		counter uint64
	}
	accepted struct {
		came, length time.Duration
		acquisition  named.Acquisition
	}
)

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
	if err != nil {
		return err
	}
	p.named.accepts, p.named.newest = map[acceptKey]accepted{}, map[named.Acquisition]acceptKey{}
	p.named.round = replica.NewLeasesRound(p.named.part)
	p.named.effect = p.named.round.Next()
	return nil
}

// namedInput queues an event for the loop.
func (n *node) namedInput(e namedEvent) {
	e.came = n.reading()
	n.process.named.in = append(n.process.named.in, e)
	n.namedLoop()
}

// namedLoop runs until no event waits, the processor is lost, or the process has died. It may be lost between any two
// effects.
func (n *node) namedLoop() {
	p := n.process
	if p == nil || p.named.busy {
		return
	}
	m := &p.named
	m.busy = true
	for n.process == p && (m.effect != replica.EffectTake || len(m.in) > 0) {
		n.doNamed(m.effect)
		m.effect = m.round.Next()
		if d, lost := n.namedGap(m.effect); lost && m.effect != replica.EffectTake {
			n.w.at(n, kindNamedLater, d, func() {
				m.busy = false
				n.namedLoop()
			})
			return
		}
	}
	m.busy = false
}

// namedGap is gap, from the stream of named leases.
func (n *node) namedGap(next replica.Effect) (time.Duration, bool) {
	w := n.w
	if w.phase != phaseFaults || !w.leasing.chance(w.plan.gapsBefore(next)) {
		return 0, false
	}
	if w.plan.on(Lag) && w.leasing.chance(w.plan.longGaps) {
		return w.leasing.skewed(time.Millisecond, 3*w.plan.lease), true
	}
	return w.leasing.skewed(5*time.Microsecond, 500*time.Microsecond), true
}

// doNamed carries out an effect of the loop.
func (n *node) doNamed(e replica.Effect) {
	m := &n.process.named
	switch e {
	case replica.EffectTake:
		for i := range m.in {
			m.round.Add(n.namedTake(&m.in[i]))
		}
		m.in = nil
	case replica.EffectClock:
		m.round.Read(n.reading())
	case replica.EffectSend:
		batches := m.round.Batches()
		for i := range batches {
			n.checkNamed(&batches[i])
			n.w.sendNamed(n, &batches[i])
		}
	case replica.EffectReply:
		for _, a := range m.round.Answers() {
			m.answer(n, a)
		}
	case replica.EffectBucket:
		n.writeBucket(m.round.Bucket())
	case replica.EffectEra:
		n.askEra()
	case replica.EffectTimer:
		n.setNamedTimer(m.round.Wake() - m.round.Now())
	}
}

// namedTake is e as the driver takes it.
func (n *node) namedTake(e *namedEvent) *replica.LeasesEvent {
	m := &n.process.named
	out := &replica.LeasesEvent{Batch: e.batch, From: e.from, Era: e.era, Bucket: e.bucket, Stop: e.stop}
	if c := e.call; c != nil {
		c.request.Wait, c.request.Patience = c.wait, n.w.plan.leasers.patience
		m.calls = append(m.calls, c)
		out.Request = &c.request
	}
	if e.batch != nil {
		m.noteAccepts(e)
	}
	if e.era != 0 {
		n.w.oracle.opens(n, e.era)
	}
	return out
}

// noteAccepts notes when each Accept came first.
func (m *namedPart) noteAccepts(e *namedEvent) {
	for i := range e.batch.Requests {
		q := &e.batch.Requests[i]
		k := acceptKey{e.from.Node, q.Name, q.Counter}
		if _, twice := m.accepts[k]; q.Kind == named.Accept && !twice {
			m.accepts[k] = accepted{e.came, q.Duration, q.Acquisition}
			m.newest[q.Acquisition] = k
		}
	}
}

// checkNamed is checkExcludes for the answers in a batch. A record that is another one's by now was released; so may
// one be that has come by a newer Accept of the same acquisition, in the same round.
func (n *node) checkNamed(b *replica.LeaseBatch) {
	m := &n.process.named
	for i := range b.Replies {
		r := &b.Replies[i]
		k := acceptKey{b.To, r.Name, r.Counter}
		a, ok := m.accepts[k]
		if r.Kind != named.Accepted || !ok || m.newest[a.acquisition] != k {
			continue
		}
		if l, live := m.part.Live(a.came, r.Name); live && l.Acquisition == a.acquisition {
			n.mustExclude(leaseText(r.Name), a.came, a.length, func(time.Duration) time.Duration { return l.Left })
		}
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

// cutOff is the end of the process for those that wait, and for those whose calls the loop has not taken.
func (m *namedPart) cutOff() {
	for i := range m.in {
		if c := m.in[i].call; c != nil {
			c.tell(&replica.LeaseAnswer{Outcome: replica.LeaseUnknown})
		}
	}
	m.in = nil
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

// sendNamedFrame sends a frame about named leases, with the faults of lease messages: more than a connection would do.
func (w *world) sendNamedFrame(from, to *node, frame []byte) {
	copies, r := 1, &w.leasing
	if w.phase == phaseFaults && w.plan.on(Drop) && r.chance(w.plan.dropping) {
		return
	}
	if w.phase == phaseFaults && w.plan.on(Duplicate) && r.chance(w.plan.doubling) {
		copies = 2
	}
	self := from.self
	for i := range copies {
		p, d := w.pack(frame), w.plan.hop+r.between(0, w.plan.hop/4)
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
			if !w.passes(from, to) || !w.admits(from, to) {
				return
			}
			if body, ok := w.open(p, wire.MaxNamedBytes); ok {
				b := w.decodeNamed(from, to, body)
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
