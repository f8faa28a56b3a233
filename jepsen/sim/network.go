package sim

import (
	"time"

	"tenure/internal/ballot"
	"tenure/lease"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/replica/leases"
	"tenure/server/transport"
	"tenure/server/wire"
)

// network carries frames between nodes: it loses, delays, repeats and damages them, and is partitioned. Frames are made
// and read by package wire as in the runner: a message is encoded when it is sent, and decoded when its bytes have
// arrived. Messages of the log follow each other on a link; others travel alone.
type network struct {
	*framer
	random  random  // loss and delay of frames of the log and of the master lease, and of connections
	words   random  // the same, of health
	leasing *random // the same, of named leases
	nodes   []*endpoint
	links   []*link
	cut     [maxMachines][maxMachines]bool // nothing passes from one node to another
	cuts    int                            // partitions so far
	met     [maxMachines][maxMachines]meeting
	copied  *diskCopy // nil: none
}

// endpoint is a node as the network sees it.
type endpoint struct {
	*machine
	drive     *drive                          // its store is what a handshake shows
	self      ballot.Incarnation              // of the newest process
	past      *transport.History              // of its peers, as the process remembers it
	saw       [maxMachines]ballot.Incarnation // of its peers that it has admitted
	copied    ballot.Incarnation              // the newest that ran with a copy of the disk
	linked    [maxMachines]uint64             // generation of the link to each other node as this process knows it; 0: none
	dismissed uint64                          // as the log part of this process last said
	large     int                             // bytes of values above which messages of the log from and to it are lost; 0: none

	takeLog    func(input)
	takeLease  func(leaseEvent)
	takeHealth func(from *machine, h *replica.Health)
	takeNamed  func(namedEvent)
	removed    func() // a peer says that the node is no member any more; nil: nobody is removed in this run
}

// maxLogBytes is the largest body on a log connection.
const maxLogBytes = 64 << 20

func newNetwork(g *engine, leasing *random) *network {
	f := &framer{engine: g, damages: g.stream(15), frames: wire.NewFrameReader(nil, 0)}
	return &network{framer: f, random: g.stream(1), words: g.stream(11), leasing: leasing}
}

// ready reports whether the process can connect to a peer.
func (n *endpoint) ready(peer *endpoint) bool { return n.up() && !n.paused && n.linked[peer.i] == 0 }

// loses reports whether messages with so many bytes of values are lost on the way from and to the node.
func (n *endpoint) loses(size int) bool { return n.large > 0 && size > n.large }

// connect makes the links of a node to others. The first connections stand a moment after the start.
func (x *network) connect(n *endpoint, others []*endpoint) {
	for _, o := range others {
		l := &link{net: x, a: n, b: o}
		x.links = append(x.links, l)
		l.dial()
	}
}

// link returns the link between two nodes, and which of its lanes is from's.
func (x *network) link(from, to *endpoint) (*link, int) {
	for _, l := range x.links {
		if l.a == from && l.b == to {
			return l, 0
		}
		if l.b == from && l.a == to {
			return l, 1
		}
	}
	panic("sim: no link")
}

// node returns the node of that id, nil if there is none.
func (x *network) node(id ballot.NodeID) *endpoint {
	for _, n := range x.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

// passes reports whether the network carries anything from a to b.
func (x *network) passes(a, b *endpoint) bool { return !x.cut[a.i][b.i] }

// connected reports whether two nodes can talk to each other: nothing is cut, and their link stands and both know.
func (x *network) connected(a, b *endpoint) bool {
	l, _ := x.link(a, b)
	return x.passes(a, b) && x.passes(b, a) && l.known()
}

// unlink breaks the links of a node whose process has ended.
func (x *network) unlink(n *endpoint) {
	for _, l := range x.links {
		if l.a == n || l.b == n {
			l.sever()
			l.dial()
		}
	}
}

// sendLogs sends messages of the log. Check looks at each as it leaves.
func (x *network) sendLogs(from *endpoint, ms []multipaxos.Message, check func(m *multipaxos.Message)) {
	wire.EncodeLogs(ms, func(m *multipaxos.Message, body []byte) {
		check(m)
		to := x.node(m.To)
		if to == nil { // it has not joined yet
			return
		}
		if x.looksAtWire() {
			x.mustSurvive(*m, *x.decodeLog(from.machine, to.machine, body).log)
		}
		size := 0
		for i := range m.Entries {
			size += len(m.Entries[i].Value)
		}
		x.sendLog(from, to, kindLog, body, size)
	})
}

// sendPeer sends a message of the log part.
func (x *network) sendPeer(from *endpoint, m *replica.Message) {
	size := 0
	for i := range m.Writes {
		size += len(m.Writes[i].Command)
	}
	body, to := wire.EncodeReplica(m), x.node(m.To)
	if to == nil {
		return
	}
	if x.looksAtWire() {
		sent, got := *m, *x.decodeLog(from.machine, to.machine, body).peer
		sent.From = from.id
		if sent.Snapshot != nil && got.Snapshot != nil {
			x.mustSurvive(*sent.Snapshot, *got.Snapshot)
			sent.Snapshot, got.Snapshot = nil, nil
		}
		x.mustSurvive(sent, got)
	}
	x.sendLog(from, to, kindPeer, body, size)
}

// sendLog sends the body of a message of the log or of the log part, of which size bytes are values.
func (x *network) sendLog(from, to *endpoint, k kind, body []byte, size int) {
	l, i := x.link(from, to)
	switch {
	case !l.stands || from.linked[to.i] != l.generation:
	case x.faulty(LogDrop) && x.random.chance(x.plan.refusing):
		x.effect(LogDrop)
	case from.loses(size) || to.loses(size):
		x.effect(LargeLost)
	default:
		l.send(i, k, wire.AppendFrame(nil, body))
	}
}

// delay returns how long a frame takes.
func (x *network) delay(jitters bool) time.Duration {
	d := x.plan.hop + x.random.between(0, x.plan.hop/4)
	if x.phase != phaseFaults {
		return d
	}
	if jitters {
		d += x.random.between(0, x.plan.jitter)
	}
	if x.plan.on(Delay) && x.random.chance(x.plan.delaying) {
		x.effect(Delay)
		d += x.random.between(0, x.plan.delay)
	}
	return d
}

// sendLeases sends messages of the master lease.
func (x *network) sendLeases(from *endpoint, ms []lease.Message) {
	for i := range ms {
		to := x.node(ms[i].To)
		if to == nil {
			continue
		}
		body := wire.EncodeLease(&ms[i])
		if x.looksAtWire() {
			x.mustSurvive(ms[i], *x.decodeLease(from.machine, to.machine, body).Message)
		}
		x.sendLease(from, to, body)
	}
}

// nudge tells all others that a node hands over to next.
func (x *network) nudge(from *endpoint, next ballot.NodeID) {
	body := wire.EncodeNudge(wire.Nudge{Node: uint64(next)})
	for _, to := range x.nodes {
		if to != from {
			x.sendLease(from, to, body)
		}
	}
}

func (x *network) sendLease(from, to *endpoint, body []byte) {
	x.sendAlone(from, to, body, wire.MaxLeaseBytes, func(body []byte) leaseEvent {
		return x.leaseEvent(to.machine, x.decodeLease(from.machine, to.machine, body))
	})
}

// sendCrash tells a node what the guardian of a dead process says.
func (x *network) sendCrash(from, to *endpoint, c *crash) {
	x.sendAlone(from, to, encodeCrash(to.id, c), wire.MaxHandshakeBytes, func(body []byte) leaseEvent {
		return leaseEvent{crash: x.decodeCrash(to.machine, body)}
	})
}

// sendAlone sends a body in a frame of its own, at most as large as its connection takes. Decode makes an event of it.
func (x *network) sendAlone(from, to *endpoint, body []byte, most int, decode func([]byte) leaseEvent) {
	copies, frame := 1, wire.AppendFrame(nil, body)
	if x.faulty(Drop) && x.random.chance(x.plan.dropping) {
		x.effect(Drop)
		return
	}
	if x.faulty(Duplicate) && x.random.chance(x.plan.doubling) {
		x.effect(Duplicate)
		copies = 2
	}
	for range copies {
		p, d := x.pack(frame), x.delay(x.plan.on(Reorder))
		if x.plan.on(Reorder) {
			x.effect(Reorder)
		}
		if copies == 2 {
			d += x.random.skewed(0, x.plan.lease)
		}
		x.arrive(from, to, kindLease, d, p, most, func(body []byte) {
			e := decode(body)
			x.trace.lease(&e)
			to.takeLease(e)
		})
	}
}

// arrive hands the body of a frame that travelled alone to take after d, if the process that runs now is there by then.
func (x *network) arrive(from, to *endpoint, k kind, d time.Duration, p packet, most int, take func(body []byte)) {
	if !to.up() {
		return
	}
	to.later(k, d, func() {
		if !x.passes(from, to) || !x.admits(from, to) {
			return
		}
		if _, _, listed := to.drive.members.Find(from.id); !listed && k != kindLease {
			return // as runner.Peers does; the elector decides itself
		}
		if body, ok := x.open(p, most); ok {
			take(body)
		}
	})
}

// sendHealth sends a report of a node's health to all others. It may be lost and be late like any lease message.
func (x *network) sendHealth(from *endpoint, h replica.Health) {
	for _, to := range x.nodes {
		if to != from {
			x.sendOneHealth(from, to, h)
		}
	}
}

func (x *network) sendOneHealth(from, to *endpoint, h replica.Health) {
	if x.faulty(Drop) && x.words.chance(x.plan.dropping) {
		x.effect(Drop)
		return
	}
	if !to.up() {
		return
	}
	p := x.pack(wire.AppendFrame(nil, wire.EncodeHealth(&h)))
	d := x.plan.hop + x.words.between(0, x.plan.hop/4)
	if x.faulty(Reorder) {
		d += x.words.between(0, x.plan.jitter)
	}
	x.arrive(from, to, kindHealth, d, p, wire.MaxLeaseBytes, func(body []byte) {
		h := x.decodeLease(from.machine, to.machine, body).Health
		if x.trace.on() {
			x.trace.note("node %d says of itself %+v", from.id, *h)
		}
		to.takeHealth(from.machine, h)
	})
}

// sendNamed sends what a node has for another about named leases.
func (x *network) sendNamed(from *endpoint, b *leases.Batch) {
	to := x.node(b.To)
	if to == nil {
		return
	}
	for len(b.Requests)+len(b.Replies) > 0 {
		sent := *b
		body := wire.EncodeNamed(b)
		sent.Requests = sent.Requests[:len(sent.Requests)-len(b.Requests)]
		sent.Replies = sent.Replies[:len(sent.Replies)-len(b.Replies)]
		if x.looksAtWire() {
			x.mustSurvive(sent, *x.decodeNamed(from.machine, to.machine, body))
		}
		x.sendNamedFrame(from, to, wire.AppendFrame(nil, body))
	}
}

// sendNamedFrame sends a frame about named leases, with the faults of lease messages: more than a connection would do.
func (x *network) sendNamedFrame(from, to *endpoint, frame []byte) {
	copies, r, self := 1, x.leasing, from.self
	if x.faulty(Drop) && r.chance(x.plan.dropping) {
		return
	}
	if x.faulty(Duplicate) && r.chance(x.plan.doubling) {
		copies = 2
	}
	for i := range copies {
		p, d := x.pack(frame), x.plan.hop+r.between(0, x.plan.hop/4)
		if x.faulty(Reorder) {
			d += r.between(0, x.plan.jitter)
		}
		if x.faulty(Delay) && r.chance(x.plan.delaying) {
			d += r.between(0, x.plan.delay)
		}
		if i == 1 {
			d += r.skewed(0, x.plan.lease)
		}
		x.arrive(from, to, kindNamed, d, p, wire.MaxNamedBytes, func(body []byte) {
			b := x.decodeNamed(from.machine, to.machine, body)
			x.trace.named(b)
			to.takeNamed(namedEvent{batch: b, from: self})
		})
	}
}

// heldByMost reports whether those that the node's membership does not list are needed no more, as the transport knows it.
func (n *endpoint) heldByMost() bool { return n.drive.members.Number <= max(1, n.dismissed) }

// dismiss breaks the links of a node to those that its membership does not list, as the transport does once they are
// needed no more.
func (x *network) dismiss(n *endpoint) {
	if !n.heldByMost() {
		return
	}
	for _, l := range x.links {
		o := l.a
		if o == n {
			o = l.b
		}
		if (l.a == n || l.b == n) && !n.drive.members.Lists(o.id, o.drive.store) && !o.drive.members.Newer(n.drive.members) {
			l.sever()
		}
	}
}

// setCut makes a partition, or ends it with an empty one. Connections without passage break after a while; frames
// waiting in an unbroken one go on.
func (x *network) setCut(cut [maxMachines][maxMachines]bool) {
	x.cut = cut
	x.cuts++
	epoch := x.cuts
	for _, l := range x.links {
		if l.stands && !(x.passes(l.a, l.b) && x.passes(l.b, l.a)) {
			generation := l.generation
			x.at(nil, kindLink, x.plan.idle+x.random.between(0, x.plan.idle/4), func() {
				if x.cuts == epoch && l.generation == generation {
					l.sever()
				}
			})
		}
		for i := range l.lanes {
			l.release(i)
		}
	}
}
