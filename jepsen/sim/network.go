package sim

import (
	"time"

	"tenure/internal/ballot"
	"tenure/server/wire"
)

// link is the log connection between two nodes: each direction keeps its order, and what was under way is lost when
// it breaks. Lease messages have no connection here: each one is on its own.
type link struct {
	w          *world
	a, b       *node
	generation uint64 // rises whenever it stands or breaks
	stands     bool
	dialling   bool
	lanes      [2]lane // from a, from b
}

// lane is one direction of a link.
type lane struct {
	last   time.Duration // arrival of the newest message
	held   []packet      // arrived where nothing passes: they go on when something does
	unread []byte        // the beginning of a frame of which more is to come
	fault  Fault         // what has happened to frames of this connection; none: they are whole
}

// wire makes the links. The first connections stand a moment after the start.
func (w *world) wire() {
	for i, a := range w.nodes {
		for _, b := range w.nodes[i+1:] {
			l := &link{w: w, a: a, b: b}
			w.links = append(w.links, l)
			l.dial()
		}
	}
}

// link is the one between two nodes, and which of its lanes is from's.
func (w *world) link(from, to *node) (*link, int) {
	for _, l := range w.links {
		if l.a == from && l.b == to {
			return l, 0
		}
		if l.b == from && l.a == to {
			return l, 1
		}
	}
	panic("sim: no link")
}

func (w *world) node(id ballot.NodeID) *node { return w.nodes[id-1] }

// passes tells whether the network carries anything from a to b.
func (w *world) passes(a, b *node) bool { return !w.cut[a.i][b.i] }

// dial tries to connect after a while, and again until the connection stands.
func (l *link) dial() {
	if l.dialling {
		return
	}
	l.dialling = true
	w := l.w
	w.at(nil, kindLink, w.network.between(w.plan.redial/4, w.plan.redial), func() {
		l.dialling = false
		if l.stands || l.a.out || l.b.out {
			return
		}
		ready := func(n, peer *node) bool { return n.up() && !n.paused && n.linked[peer.i] == 0 && !n.exits }
		if !ready(l.a, l.b) || !ready(l.b, l.a) || !w.passes(l.a, l.b) || !w.passes(l.b, l.a) || !w.admits(l.a, l.b) {
			l.dial()
			return
		}
		l.connect()
	})
}

// admits is the handshake: both must be members with the stores that they have.
func (w *world) admits(a, b *node) bool {
	return w.members.Lists(a.id, a.disk.store) && w.members.Lists(b.id, b.disk.store)
}

func (l *link) connect() {
	l.generation++
	l.stands = true
	l.lanes = [2]lane{{last: l.w.now}, {last: l.w.now}}
	if l.w.trace.on() {
		l.w.trace.note("nodes %d and %d connect", l.a.id, l.b.id)
	}
	l.a.linked[l.b.i], l.b.linked[l.a.i] = l.generation, l.generation
	l.a.input(input{up: l.b.id})
	if l.b.up() {
		l.b.input(input{up: l.a.id})
	}
}

// sever ends the connection. Both sides hear of it, each in its time; then somebody dials again.
func (l *link) sever() {
	if !l.stands {
		return
	}
	l.generation++
	l.stands = false
	if l.w.trace.on() {
		l.w.trace.note("the connection of nodes %d and %d breaks", l.a.id, l.b.id)
	}
	for _, side := range [2][2]*node{{l.a, l.b}, {l.b, l.a}} {
		n, peer := side[0], side[1]
		if !n.up() || n.linked[peer.i] == 0 {
			continue
		}
		e := l.w.at(n, kindLink, l.w.network.skewed(10*time.Microsecond, 5*time.Millisecond), func() {
			n.linked[peer.i] = 0
			n.input(input{down: peer.id})
		})
		e.lane = true
	}
	l.dial()
}

// unlink breaks the connections of a node whose process has ended.
func (w *world) unlink(n *node) {
	for _, l := range w.links {
		if l.a == n || l.b == n {
			l.sever()
			l.dial()
		}
	}
}

// sendLog sends the body of a message of the log or of the log part, of which size bytes are values.
func (w *world) sendLog(from *node, id ballot.NodeID, k kind, body []byte, size int) {
	to := w.node(id)
	l, i := w.link(from, to)
	if !l.stands || from.linked[to.i] != l.generation {
		return
	}
	if w.phase == phaseFaults && w.plan.on(LogDrop) && w.network.chance(w.plan.refusing) {
		w.effect(LogDrop)
		return
	}
	if from.loses(size) || to.loses(size) {
		w.effect(LargeLost)
		return
	}
	lane := &l.lanes[i]
	lane.last = max(lane.last+1, w.now+w.delay(false))
	generation, p := l.generation, w.pack(wire.AppendFrame(nil, body))
	e := w.at(to, k, lane.last-w.now, func() {
		if l.generation != generation {
			return
		}
		if !w.passes(from, to) {
			lane.held = append(lane.held, p)
			return
		}
		if body, ok := l.receive(i, p); ok {
			m := w.decodeLog(from, to, body)
			w.mixLog(&m)
			to.input(m)
		}
	})
	e.lane = true
}

// delay is how long a message takes.
func (w *world) delay(jitters bool) time.Duration {
	d := w.plan.hop + w.network.between(0, w.plan.hop/4)
	if w.phase != phaseFaults {
		return d
	}
	if jitters {
		d += w.network.between(0, w.plan.jitter)
	}
	if w.plan.on(Delay) && w.network.chance(w.plan.delaying) {
		w.effect(Delay)
		d += w.network.between(0, w.plan.delay)
	}
	return d
}

// sendLease sends a lease message, or a hint of a hand-over.
func (w *world) sendLease(from *node, id ballot.NodeID, body []byte) {
	to := w.node(id)
	w.sendAlone(from, to, body, wire.MaxLeaseBytes, func(body []byte) leaseEvent { return to.leaseEvent(from, body) })
}

// sendAlone sends a body in a frame of its own, at most as large as its connection takes. Decode makes an event of it.
func (w *world) sendAlone(from, to *node, body []byte, most int, decode func([]byte) leaseEvent) {
	copies, frame := 1, wire.AppendFrame(nil, body)
	if w.phase == phaseFaults && w.plan.on(Drop) && w.network.chance(w.plan.dropping) {
		w.effect(Drop)
		return
	}
	if w.phase == phaseFaults && w.plan.on(Duplicate) && w.network.chance(w.plan.doubling) {
		w.effect(Duplicate)
		copies = 2
	}
	for range copies {
		p, d := w.pack(frame), w.delay(w.plan.on(Reorder))
		if w.plan.on(Reorder) {
			w.effect(Reorder)
		}
		if copies == 2 {
			d += w.network.skewed(0, w.plan.lease)
		}
		if !to.up() {
			continue
		}
		w.at(to, kindLease, d, func() {
			if !w.passes(from, to) || !w.admits(from, to) {
				return
			}
			if body, ok := w.open(p, most); ok {
				e := decode(body)
				w.mixLease(&e)
				to.leaseInput(e)
			}
		})
	}
}

// setCut makes a partition, or ends it with an empty one. Connections over which nothing passes break after a while;
// what waited in one that did not break goes on.
func (w *world) setCut(cut [5][5]bool) {
	w.cut = cut
	w.cuts++
	epoch := w.cuts
	for _, l := range w.links {
		open := w.passes(l.a, l.b) && w.passes(l.b, l.a)
		if !open && l.stands {
			generation := l.generation
			w.at(nil, kindLink, w.plan.idle+w.network.between(0, w.plan.idle/4), func() {
				if w.cuts == epoch && l.generation == generation {
					l.sever()
				}
			})
		}
		for i := range l.lanes {
			from, to := l.a, l.b
			if i == 1 {
				from, to = l.b, l.a
			}
			if l.stands && w.passes(from, to) {
				l.thaw(i, from, to)
			}
		}
	}
}

// thaw hands over what a partition held up, in order and before anything that is still on its way.
func (l *link) thaw(i int, from, to *node) {
	held := l.lanes[i].held
	l.lanes[i].held = nil
	for _, p := range held {
		if !to.up() {
			return
		}
		body, ok := l.receive(i, p)
		if !ok {
			if !l.stands {
				return
			}
			continue
		}
		m := l.w.decodeLog(from, to, body)
		if to.paused {
			e := &event{node: to, run: to.run, kind: kindLog, lane: true, do: func() { to.input(m) }}
			to.held = append(to.held, e)
			continue
		}
		l.w.mixLog(&m)
		to.input(m)
	}
}

// mixLog puts what arrives into the trace.
func (w *world) mixLog(e *input) {
	if m := e.log; m != nil {
		w.trace.mix(uint64(m.Kind)<<16|uint64(m.From), m.Ballot.Counter, uint64(m.Slot), uint64(m.Through), uint64(m.Chosen), uint64(len(m.Entries)))
		if w.trace.on() {
			w.trace.note("%s", describe(m))
		}
		return
	}
	m := e.peer
	w.trace.mix(uint64(m.Kind)<<16|uint64(m.From), m.Heartbeat.Epoch, uint64(len(m.Writes)), uint64(len(m.Answers)), m.Read.Slot)
	if w.trace.on() {
		w.trace.note("%s", describePeer(m))
	}
}

func (w *world) mixLease(e *leaseEvent) {
	if m := e.message; m != nil {
		w.trace.mix(uint64(m.Kind)<<16|uint64(m.From), m.Ballot.Counter, m.Promised.Counter)
	}
	if c := e.crash; c != nil {
		w.trace.mix(uint64(c.owner.Node), c.owner.Restart, uint64(len(c.counters)))
	}
	if w.trace.on() {
		switch {
		case e.message != nil:
			w.trace.note("%v", *e.message)
		case e.crash != nil:
			w.trace.note("%v has died, says its guardian: release %v", e.crash.owner, e.crash.counters)
		case e.nudged:
			w.trace.note("hand-over: you next")
		default:
			w.trace.note("hand-over: stand back")
		}
	}
}
