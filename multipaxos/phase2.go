package multipaxos

import (
	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// phase2 is what a leader has proposed under its ballot and not yet seen chosen.
type phase2 struct {
	next  Slot             // next slot to propose in
	own   Slot             // first slot whose own vote is not counted yet
	votes ring[quorum.Set] // of the slots first, first+1, … next−1
	bytes int              // of their values
	quiet int              // ticks since the last round of heartbeats
}

// first returns the first slot that is not chosen.
func (f *phase2) first() Slot { return f.next - Slot(f.votes.len()) }

// vote counts a node for the slots in [from, through] that are not chosen. A node counts once, however often it says
// so.
func (f *phase2) vote(id ballot.NodeID, from, through Slot) {
	first := f.first()
	for s := max(from, first); s <= through; s++ {
		f.votes.at(int(s - first)).Add(id)
	}
}

// unvoted returns the first slot, of those not chosen, that a node has not acknowledged, or the next to propose.
func (f *phase2) unvoted(id ballot.NodeID) Slot {
	for i := range f.votes.len() {
		if !f.votes.at(i).Has(id) {
			return f.first() + Slot(i)
		}
	}
	return f.next
}

// space reports whether place may be called for a new value: leading, the window not full, and the own disk not far
// behind a quorum of others.
func (l *leader) space(a *acceptor) bool {
	f := &l.phase2
	return l.phase == Leading && f.votes.len() < l.cfg.WindowEntries && f.bytes < l.cfg.WindowBytes && !a.flooded()
}

// place votes for value in the next slot as the own acceptor, and opens the count. The own vote is not in it yet.
func (l *leader) place(value []byte, a *acceptor) Slot {
	if a.promised != l.ballot {
		panic("multipaxos: proposing under a ballot that is not the own promise")
	}
	s := l.phase2.next
	l.phase2.next++
	l.phase2.votes.push(quorum.Set{})
	l.phase2.bytes += len(value)
	a.store(Entry{Slot: s, Ballot: l.ballot, Value: value})
	return s
}

// flush sends every peer what it has not been sent, as far as its window allows. Chosen slots are skipped: a peer
// that lacks one fetches it. Peers that are equally far share one page.
func (l *leader) flush(n news, a *acceptor, out *outbox) {
	if l.phase != Leading {
		return
	}
	var page []Entry
	var bytes int
	for i := range l.peers {
		p := &l.peers[i]
		p.next = max(p.next, a.chosen+1)
		for p.next < l.phase2.next && p.mayFly(l.cfg) {
			if len(page) == 0 || page[0].Slot != p.next {
				page, bytes = a.log.page(p.next, l.phase2.next, l.cfg.PageBytes)
			}
			p.told = n
			p.sent(page[len(page)-1].Slot, len(page), bytes)
			m := Message{Kind: KindAccept, To: p.node, Ballot: l.ballot, Entries: page}
			m.Chosen, m.Checkpointed = n.chosen, n.checkpointed
			out.now(m)
		}
	}
}

// handleAccepted counts the votes of a peer.
func (l *leader) handleAccepted(m *Message, a *acceptor) {
	p := l.peers.get(m.From)
	if l.phase != Leading || m.Ballot != l.ballot || m.Through >= l.phase2.next {
		return
	}
	if m.Through > p.acked {
		l.pieces++
	}
	p.acknowledged(m.Through)
	l.phase2.vote(p.node, m.Slot, m.Through)
	l.advance(a)
}

// ownVotes counts the own acceptor's votes as far as they are durable.
func (l *leader) ownVotes(a *acceptor) {
	if l.phase != Leading {
		return
	}
	f := &l.phase2
	for f.own = max(f.own, a.chosen+1); f.own < f.next && a.log.at(f.own).seq <= a.writes.durable; f.own++ {
		f.vote(l.cfg.Self.Node, f.own, f.own)
	}
	l.advance(a)
}

// advance moves the chosen mark over the slots that a quorum has voted for, in order.
func (l *leader) advance(a *acceptor) {
	f := &l.phase2
	for f.votes.len() > 0 && quorum.Reached(l.cfg.Voters, *f.votes.at(0)) {
		f.votes.pop()
		a.chosen++
		f.bytes -= len(a.log.at(a.chosen).Value)
	}
	a.evict()
}
