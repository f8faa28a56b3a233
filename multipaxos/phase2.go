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
	quiet int              // ticks since the last round of Marks
}

// first returns the first slot that is not chosen.
func (f *phase2) first() Slot { return f.next - Slot(f.votes.len()) }

// vote counts a node for the slots in [from, through] that are not chosen, as far as the membership that decides a slot
// has it as a voter. A node counts once, however often it says so.
func (l *leader) vote(id ballot.NodeID, from, through Slot, a *acceptor) {
	f := &l.phase2
	first := f.first()
	for s := max(from, first); s <= through; s++ {
		if a.memberships.governing(s).Voters.Has(id) {
			f.votes.at(int(s - first)).Add(id)
		}
	}
}

// owed returns the first slot, of those not chosen, that a peer has not acknowledged, or the next to propose.
func (l *leader) owed(p *peer, a *acceptor) Slot {
	f := &l.phase2
	for i := range f.votes.len() {
		s := f.first() + Slot(i)
		if a.memberships.governing(s).Voters.Has(p.node) {
			if !f.votes.at(i).Has(p.node) {
				return s
			}
		} else if s > p.acked {
			return s
		}
	}
	return f.next
}

// mayPlace reports whether place may be called for a new value: this node leads, the window is not full, the own disk
// is not far behind a quorum of others, and every membership entry in the log is applied here.
func (l *leader) mayPlace(a *acceptor) bool {
	f := &l.phase2
	return l.phase == Leading && f.votes.len() < l.cfg.WindowEntries && f.bytes < l.cfg.WindowBytes && !a.flooded() &&
		!a.memberships.open()
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
	l.prompt.proposed(len(value))
	a.store(Entry{Slot: s, Ballot: l.ballot, Value: value})
	return s
}

// flush sends the peers what they have not been sent, as far as their windows allow, but for those that are to wait.
func (l *leader) flush(n Slot, a *acceptor, out *outbox) {
	if l.phase != Leading {
		return
	}
	var page sharedPage
	for i := range l.peers {
		if p := &l.peers[i]; !l.prompt.holdsBack(p, a) {
			l.send(p, &page, n, a, out)
		}
	}
	if l.prompt.hurry {
		l.prompt.sent()
	}
}

// sharedPage is a page that peers share which are equally far.
type sharedPage struct {
	entries []Entry
	bytes   int
}

// send sends a peer what it has not been sent, as far as its window allows. Slots that were chosen meanwhile are sent
// while memory has them. If it does not, all chosen ones are skipped: a peer that lacks one fetches it.
func (l *leader) send(p *peer, page *sharedPage, n Slot, a *acceptor, out *outbox) {
	if p.next < a.log.base {
		p.next = max(p.next, a.chosen+1)
	}
	for p.next < l.phase2.next && p.mayFly(l.cfg) {
		if len(page.entries) == 0 || page.entries[0].Slot != p.next {
			page.entries, page.bytes = a.log.page(p.next, l.phase2.next, l.cfg.PageBytes)
		}
		p.told = n
		p.sent(page.entries[len(page.entries)-1].Slot, len(page.entries), page.bytes)
		out.now(Message{Kind: KindAccept, To: p.node, Ballot: l.ballot, Entries: page.entries, Chosen: n})
	}
}

// handleAccepted counts the votes of a peer.
func (l *leader) handleAccepted(m *Message, a *acceptor) {
	p := l.peers.get(m.From)
	if p == nil || l.phase != Leading || m.Ballot != l.ballot || m.Through >= l.phase2.next {
		return
	}
	if p.voter && m.Through > p.acked {
		l.pieces++
	}
	p.acknowledged(m.Through)
	l.vote(p.node, m.Slot, m.Through, a)
	l.advance(a)
}

// ownVotes counts the own acceptor's votes as far as they are durable.
func (l *leader) ownVotes(a *acceptor) {
	if l.phase != Leading {
		return
	}
	f := &l.phase2
	for f.own = max(f.own, a.chosen+1); f.own < f.next && a.log.at(f.own).seq <= a.writes.durable; f.own++ {
		l.vote(l.cfg.Self.Node, f.own, f.own, a)
	}
	l.advance(a)
}

// advance moves the chosen mark, in slot order, over slots for which a quorum of their membership has voted. The entry
// with that membership is chosen before them.
func (l *leader) advance(a *acceptor) {
	f := &l.phase2
	for f.votes.len() > 0 && quorum.Reached(a.memberships.governing(f.first()).Voters, *f.votes.at(0)) {
		f.votes.pop()
		a.chosen++
		f.bytes -= len(a.log.at(a.chosen).Value)
	}
	a.evict()
}
