package multipaxos

import (
	"encoding/binary"
	"slices"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Clone returns a deep copy that shares only what nobody changes: values and the configuration. It reads through r,
// which has the entries that c's own reader has.
func (c *Core) Clone(r Reader) *Core {
	n := *c
	n.acceptor.log.reader = r
	n.acceptor.log.recent = c.acceptor.log.recent.clone()
	n.acceptor.log.tail = c.acceptor.log.tail.clone()
	n.acceptor.memberships = c.acceptor.memberships.clone()
	n.acceptor.writes.owes.taken = c.acceptor.writes.owes.taken.clone()
	n.acceptor.writes.open.Entries = append([]Entry(nil), c.acceptor.writes.open.Entries...)
	n.leader.phase1.found = c.leader.phase1.found.clone()
	n.leader.phase1.met = slices.Clone(c.leader.phase1.met)
	n.leader.phase2.votes = c.leader.phase2.votes.clone()
	n.leader.peers = c.leader.peers.clone()
	n.out = c.out.clone()
	return &n
}

// AppendState writes all that decides c's future behind buf, the same bytes for equal states. It leaves out what only
// MarkedThrough, Pieces and Behind tell. Persist numbers are written relative to the durable one, so that states
// differing only in age are equal.
func (c *Core) AppendState(buf []byte) []byte {
	s := state{buf: buf, durable: c.acceptor.writes.durable}
	s.acceptor(&c.acceptor)
	s.learner(&c.learner, c.acceptor.chosen)
	for _, id := range c.others {
		s.num(uint64(id))
	}
	s.leader(&c.leader)
	s.outbox(&c.out)
	return s.buf
}

// state writes the components of a Core.
type state struct {
	buf     []byte
	durable uint64
}

func (s *state) num(vs ...uint64) {
	for _, v := range vs {
		s.buf = binary.AppendUvarint(s.buf, v)
	}
}

func (s *state) flag(b bool) {
	if b {
		s.num(1)
	} else {
		s.num(0)
	}
}

// seq: 0 is durable, else how many Persists must become durable first.
func (s *state) seq(q uint64) { s.num(max(q, s.durable) - s.durable) }

func (s *state) ballot(b ballot.Ballot) { s.num(b.Counter, b.Restart, uint64(b.Node), b.Nonce) }

func (s *state) entry(e *Entry) {
	s.num(uint64(e.Slot))
	s.ballot(e.Ballot)
	s.num(uint64(len(e.Value)))
	s.buf = append(s.buf, e.Value...)
}

func (s *state) entries(es []Entry) {
	s.num(uint64(len(es)))
	for i := range es {
		s.entry(&es[i])
	}
}

func (s *state) set(v quorum.Set) {
	s.num(uint64(v.Len()))
	for i := range v.Len() {
		s.num(uint64(v.At(i)))
	}
}

// AppendState writes the fields of m behind buf, the same bytes for equal messages.
func (m *Message) AppendState(buf []byte) []byte {
	s := state{buf: buf}
	s.message(m)
	return s.buf
}

func (s *state) message(m *Message) {
	s.num(uint64(m.Kind), uint64(m.From), uint64(m.To))
	s.ballot(m.Ballot)
	s.ballot(m.Promised)
	s.num(uint64(m.Slot), uint64(m.Through), uint64(m.Chosen), uint64(m.Truncated), m.Round, m.Membership)
	s.flag(m.Last)
	s.entries(m.Entries)
}

func (s *state) outbox(o *outbox) {
	s.num(uint64(len(o.ready)))
	for i := range o.ready {
		s.message(&o.ready[i])
	}
	s.num(uint64(o.waiting.len()))
	for i := range o.waiting.len() {
		w := o.waiting.at(i)
		s.seq(w.seq)
		s.message(&w.msg)
	}
}

func (s *state) acceptor(a *acceptor) {
	s.ballot(a.promised)
	s.seq(a.promisedSeq)
	s.num(uint64(a.log.base), uint64(a.log.truncated))
	s.num(uint64(a.log.recent.len()))
	for i := range a.log.recent.len() {
		r := a.log.recent.at(i)
		s.entry(&r.Entry)
		s.seq(r.seq)
	}
	s.tail(&a.log.tail)
	s.memberships(&a.memberships)
	s.num(uint64(a.chosen), uint64(a.synced), uint64(a.stateDB))
	s.writes(&a.writes)
	s.num(uint64(a.space.full), uint64(a.pin), uint64(a.allHave))
	s.flag(a.space.short)
	s.num(uint64(a.space.jam.from), uint64(a.space.jam.ticks))
}

func (s *state) tail(t *tail) {
	s.num(uint64(t.measured), uint64(t.left))
	for _, r := range [...]*ring[piece]{&t.found, &t.pieces} {
		s.num(uint64(r.len()))
		for i := range r.len() {
			p := r.at(i)
			s.num(uint64(p.through), uint64(p.slots), uint64(p.bytes))
		}
	}
}

func (s *state) memberships(ms *memberships) {
	s.num(uint64(ms.applied), uint64(len(ms.list)))
	s.flag(ms.changed)
	for i := range ms.list {
		m := &ms.list[i]
		s.num(m.Number, uint64(m.Slot), uint64(len(m.NonVoters)))
		s.set(m.Voters)
		for _, id := range m.NonVoters {
			s.num(uint64(id))
		}
	}
}

func (s *state) writes(d *writes) {
	s.seq(d.seq)
	s.flag(d.hasOpen)
	s.ballot(d.open.Promised)
	s.entries(d.open.Entries)
	s.num(uint64(d.open.Truncate), uint64(d.chosen), uint64(d.markTicks))
	s.num(uint64(d.owes.open.slots), uint64(d.owes.open.bytes), uint64(d.owes.taken.len()))
	for i := range d.owes.taken.len() {
		o := d.owes.taken.at(i)
		s.seq(o.seq)
		s.num(uint64(o.slots), uint64(o.bytes))
	}
}

// learner: that something is known to be chosen decides nothing where this node's own mark covers it.
func (s *state) learner(l *learner, chosen Slot) {
	s.num(uint64(l.applied))
	s.ballot(l.mark.ballot)
	s.num(uint64(l.mark.through), uint64(max(l.known, chosen)), uint64(l.hint), uint64(l.waits), uint64(l.gone),
		uint64(l.missed), uint64(l.starved))
}

func (s *state) leader(l *leader) {
	s.num(uint64(l.phase))
	s.flag(l.preempted)
	s.ballot(l.ballot)
	s.ballot(l.seen)
	s.seq(l.phase1.seq)
	s.flag(l.phase1.own)
	s.num(uint64(l.phase1.base), uint64(l.phase1.quiet), uint64(l.phase1.found.len()))
	for i := range l.phase1.found.len() {
		s.entry(l.phase1.found.at(i))
	}
	s.flag(l.stalePeers)
	s.num(l.phase1.known, uint64(len(l.phase1.met)))
	for _, x := range l.phase1.met {
		s.num(uint64(x.node))
		s.flag(x.voter)
	}
	f := &l.phase2
	s.num(uint64(f.next), uint64(f.own), uint64(f.bytes), uint64(f.quiet), uint64(f.votes.len()))
	for i := range f.votes.len() {
		s.set(*f.votes.at(i))
	}
	s.num(l.confirm.round, l.confirm.done, uint64(l.confirm.quiet))
	s.set(l.prompt.set)
	s.num(uint64(l.prompt.held))
	s.flag(l.prompt.hurry)
	for i := range l.peers {
		s.peer(&l.peers[i])
	}
}

func (s *state) peer(p *peer) {
	s.num(uint64(p.node), uint64(p.asked), p.newest)
	s.flag(p.voter)
	s.flag(p.complete)
	s.flag(p.held)
	s.num(uint64(p.next), uint64(p.acked), p.round)
	s.flag(p.probe)
	s.num(uint64(p.quiet), uint64(p.resend), uint64(p.told), uint64(p.inFlight.len()))
	for i := range p.inFlight.len() {
		f := p.inFlight.at(i)
		s.num(uint64(f.through), uint64(f.slots), uint64(f.bytes))
	}
}
