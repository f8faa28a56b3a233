package multipaxos

import (
	"bytes"
	"fmt"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// phase1 is what a preparing leader has found out.
type phase1 struct {
	seq   uint64      // the Persist that carries the own promise
	own   bool        // which is durable
	found ring[Entry] // slots base, base+1, …: the highest-ballot entry reported; zero ballot: none
	base  Slot
	quiet int // ticks since the Prepares were last sent
	// met are the voters of the memberships that promises have reported, and known is the highest of their numbers.
	met   roster
	known uint64
}

// lead begins to lead under a fresh ballot (M2): above everything promised here or seen anywhere, and of this
// incarnation, so it was never used before. No Prepare leaves before the own promise to this ballot is durable. Phase 1
// finds the entries that an earlier attempt had in flight, or they are lost.
func (l *leader) lead(a *acceptor, out *outbox) {
	l.retire(out)
	b := ballot.New(l.seen.Max(a.promised).Counter+1, l.cfg.Self)
	l.ballot, l.phase = b, Preparing
	l.see(b, out)
	a.raise(b)
	l.phase1.seq = a.promisedSeq
	for i := range l.peers {
		if p := &l.peers[i]; p.voter {
			p.asked = a.chosen + 1
			out.after(l.phase1.seq, l.prepare(p))
		}
	}
}

func (l *leader) prepare(p *peer) Message {
	return Message{Kind: KindPrepare, To: p.node, Ballot: l.ballot, Slot: p.asked}
}

// tickPrepare repeats the Prepares of the pages that have not come.
func (l *leader) tickPrepare(out *outbox) {
	if !l.phase1.own {
		return
	}
	if l.phase1.quiet++; l.phase1.quiet < prepareTicks {
		return
	}
	l.phase1.quiet = 0
	for i := range l.peers {
		if p := &l.peers[i]; p.owesPromise() {
			out.now(l.prepare(p))
		}
	}
}

// resume asks for the pages that a flooded disk held up.
func (l *leader) resume(out *outbox) {
	if l.phase != Preparing {
		return
	}
	for i := range l.peers {
		if p := &l.peers[i]; p.held {
			p.held = false
			out.now(l.prepare(p))
		}
	}
}

// ownPromise counts the own acceptor once its promise is durable. The entries that it would report are in the log.
func (l *leader) ownPromise(a *acceptor) {
	if l.phase == Preparing && !l.phase1.own && l.phase1.seq <= a.writes.durable {
		l.phase1.own = true
		l.finishPhase1(a)
	}
}

// handlePromise takes a page of a promise (M2). A page counts if it is the one asked for and its range is not
// truncated. A promise counts once its last page did. Slots at or below the promiser's own chosen mark hold chosen
// values, and are learned in order instead of being proposed again.
func (l *leader) handlePromise(m *Message, a *acceptor, out *outbox) {
	p := l.peers.get(m.From)
	l.gone = max(l.gone, m.Truncated)
	if p == nil || l.phase != Preparing || m.Ballot != l.ballot || !l.phase1.own || p.complete || m.Slot != p.asked {
		return
	}
	if m.Truncated >= m.Slot {
		// No-ops could land on chosen slots that this acceptor no longer knows. Ask again from what is known by then.
		p.asked = max(p.asked, a.chosen+1)
		return
	}
	l.pieces++
	through := m.Slot
	for _, e := range m.Entries {
		through = e.Slot
		if e.Slot == a.chosen+1 && e.Slot <= m.Chosen {
			a.learn(e)
		} else if e.Slot > a.chosen && !l.phase1.offer(e, a.chosen) {
			return // of no use
		}
		l.meet(&e, a)
	}
	a.evict()
	if m.Last {
		p.complete, p.newest = true, m.Membership
		l.finishPhase1(a)
		return
	}
	p.asked = max(through, a.chosen) + 1
	if p.held = a.flooded(); !p.held {
		out.now(l.prepare(p))
	}
}

// meet takes note of a membership entry that a promise reports: its voters may be needed.
func (l *leader) meet(e *Entry, a *acceptor) {
	m, ok := a.memberships.in(e.Slot, e.Value)
	if !ok {
		return
	}
	l.phase1.met = l.phase1.met.withVoters(m.Voters)
	l.phase1.known = max(l.phase1.known, m.Number)
	l.stalePeers = true
}

// promised reports whether a quorum of the voters, by distinct nodes, has promised completely.
func (l *leader) promised(voters quorum.Set) bool {
	return l.reached(voters, l.phase1.own, func(p *peer) bool { return p.complete })
}

// phase1Done reports whether a quorum of every needed membership has promised: of those that govern the slots from the
// first one not chosen up to the next new one. The reports themselves name these memberships. A membership entry that
// must be proposed again governs the slots above it, and its voters may report more.
func (l *leader) phase1Done(a *acceptor, top Slot) bool {
	if !l.promised(a.memberships.governing(a.chosen + 1).Voters) {
		return false
	}
	known := max(l.phase1.known, a.memberships.newest().Number)
	for i := range l.peers {
		if p := &l.peers[i]; p.complete && p.newest > known {
			return false // it stores a newer one, of a slot that has not been met
		}
	}
	for s := a.chosen + 1; s <= top && a.memberships.of != nil; s++ {
		if m, ok := a.memberships.in(s, l.phase1.recovered(s, a.log.at(s))); ok && !l.promised(m.Voters) {
			return false
		}
	}
	return true
}

// top returns the highest slot above the chosen mark in which anybody reported anything, or the chosen mark.
func (f *phase1) top(a *acceptor) Slot {
	top := max(a.log.last(), f.base+Slot(f.found.len()))
	for top > a.chosen && f.at(top).Ballot.IsZero() && a.log.at(top) == nil {
		top--
	}
	return max(top, a.chosen)
}

// finishPhase1 starts to lead once promises are complete: every slot above the chosen mark that anybody reported is
// proposed again under the own ballot (M3).
func (l *leader) finishPhase1(a *acceptor) {
	top := l.phase1.top(a)
	if !l.phase1Done(a, top) {
		return
	}
	found := l.phase1
	l.phase1 = phase1{}
	l.phase, l.stalePeers = Leading, true
	first := a.chosen + 1
	l.phase2 = phase2{next: first, own: first}
	l.peers.reset()
	for i := range l.peers {
		l.peers[i].next = first
	}
	for s := first; s <= top; s++ {
		l.place(found.recovered(s, a.log.at(s)), a)
	}
}

// offer keeps e if its ballot is the highest reported for its slot. It refuses slots beyond what acceptors store.
func (f *phase1) offer(e Entry, chosen Slot) bool {
	if e.Slot > chosen+2*maxAhead {
		return false
	}
	for f.found.len() > 0 && f.base <= chosen {
		f.found.pop()
		f.base++
	}
	if f.found.len() == 0 {
		f.base = chosen + 1
	}
	for f.base+Slot(f.found.len()) <= e.Slot {
		f.found.push(Entry{})
	}
	if best := f.found.at(int(e.Slot - f.base)); best.Ballot.Less(e.Ballot) {
		*best = e
	}
	return true
}

// at returns the best entry reported for s; a zero ballot if none was.
func (f *phase1) at(s Slot) Entry {
	if s < f.base || s-f.base >= Slot(f.found.len()) {
		return Entry{}
	}
	return *f.found.at(int(s - f.base))
}

// recovered returns the value that must be proposed in s (M3): the one with the highest ballot among the reports and
// own, or a no-op if there is none. The own acceptor's record is own, nil if it has none.
func (f *phase1) recovered(s Slot, own *record) []byte {
	best := f.at(s)
	if own != nil {
		if own.Ballot == best.Ballot && !bytes.Equal(own.Value, best.Value) {
			panic(fmt.Sprintf("multipaxos: slot %d has two values under %v", s, own.Ballot))
		}
		if best.Ballot.Less(own.Ballot) {
			best = own.Entry
		}
	}
	return best.Value
}
