package multipaxos

import (
	"encoding/binary"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Clone is a deep copy that shares only what nobody changes: values, and the Reader (see Rebind).
func (c *Core) Clone() *Core {
	n := *c
	n.log.recent = c.log.recent.clone()
	n.box = c.box.clone()
	n.owes.taken = c.owes.taken.clone()
	n.open.Entries = append([]Entry(nil), c.open.Entries...)
	n.phase1.found = c.phase1.found.clone()
	n.phase2.votes = c.phase2.votes.clone()
	n.peers = append([]peer(nil), c.peers...)
	for i := range n.peers {
		n.peers[i].flight = c.peers[i].flight.clone()
	}
	return &n
}

// Rebind makes a clone read from another disk than its origin: one that holds the same entries.
func (c *Core) Rebind(r Reader) { c.log.reader = r }

// AppendState writes all that decides c's future behind buf, the same bytes for equal states. Persist numbers are
// written relative to the durable one, so that states differing only in age are equal.
func (c *Core) AppendState(buf []byte) []byte {
	s := state{buf: buf, durable: c.box.durable}
	s.ballot(c.promised)
	s.seq(c.promisedSeq)
	s.num(uint64(c.log.base), uint64(c.log.truncated))
	s.num(uint64(c.log.recent.len()))
	for i := range c.log.recent.len() {
		r := c.log.recent.at(i)
		s.entry(&r.Entry)
		s.seq(r.seq)
	}
	s.seq(c.seq)
	s.flag(c.hasOpen)
	s.ballot(c.open.Promised)
	s.entries(c.open.Entries)
	s.num(uint64(c.open.Truncate), uint64(c.chosenIssued), uint64(c.markTicks), uint64(c.synced))
	s.outbox(&c.box)
	s.num(uint64(c.owes.open.slots), uint64(c.owes.open.bytes), uint64(c.owes.taken.len()))
	for i := range c.owes.taken.len() {
		o := c.owes.taken.at(i)
		s.seq(o.seq)
		s.num(uint64(o.slots), uint64(o.bytes))
	}
	s.num(uint64(c.chosen), uint64(c.applied), uint64(c.folded), uint64(c.foldedAll))
	s.ballot(c.mark.ballot)
	s.num(uint64(c.mark.through), uint64(c.known), uint64(c.hint), uint64(c.fetchWait))
	s.num(uint64(c.full))
	s.flag(c.starved)
	s.flag(c.short)
	s.num(uint64(c.jam.from), uint64(c.jam.ticks))
	s.leader(c)
	return s.buf
}

// state writes the parts of a Core.
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
	s.num(uint64(m.Slot), uint64(m.Through), uint64(m.Chosen), uint64(m.Truncated), uint64(m.Folded), m.Round, m.Membership)
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

func (s *state) leader(c *Core) {
	s.num(uint64(c.phase))
	s.flag(c.preempted)
	s.ballot(c.ballot)
	s.ballot(c.seen)
	s.seq(c.phase1.seq)
	s.flag(c.phase1.own)
	s.num(uint64(c.phase1.base), uint64(c.phase1.quiet), uint64(c.phase1.found.len()))
	for i := range c.phase1.found.len() {
		s.entry(c.phase1.found.at(i))
	}
	f := &c.phase2
	s.num(uint64(f.next), uint64(f.own), uint64(f.bytes), uint64(f.quiet), uint64(f.votes.len()))
	for i := range f.votes.len() {
		s.set(*f.votes.at(i))
	}
	s.num(c.confirm.round, c.confirm.done, uint64(c.confirm.quiet))
	for i := range c.peers {
		s.peer(&c.peers[i])
	}
}

func (s *state) peer(p *peer) {
	s.num(uint64(p.node), uint64(p.chosen), uint64(p.folded), uint64(p.asked))
	s.flag(p.complete)
	s.flag(p.held)
	s.num(uint64(p.next), uint64(p.acked), p.round)
	s.flag(p.probe)
	s.num(uint64(p.quiet), uint64(p.patience), uint64(p.toldChosen), uint64(p.toldFolded), uint64(p.flight.len()))
	for i := range p.flight.len() {
		f := p.flight.at(i)
		s.num(uint64(f.through), uint64(f.slots), uint64(f.bytes))
	}
}
