package multipaxos

import (
	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Phase tells what a node does as leader of the log.
type Phase uint8

// The phases. Leading begins when Phase 1 is complete and everything it found has been proposed again.
const (
	Following Phase = iota
	Preparing
	Leading
)

// String names the phase.
func (p Phase) String() string { return [...]string{"following", "preparing", "leading"}[p] }

// leader is this node's attempt to lead the log, if it makes one. Its acceptor votes like anybody's, and is handed in.
type leader struct {
	cfg       *Config
	phase     Phase
	preempted bool
	ballot    ballot.Ballot
	seen      ballot.Ballot // highest of any message; own ones start above it
	peers     peers
	phase1    phase1
	phase2    phase2
	confirm   confirm
	prompt    prompt

	stalePeers bool // phase1.met has changed since follow made the peers
	// What M6 counts and listens to. Nothing here depends on them.
	pieces uint64 // of the recovery and of the log that others have acknowledged
	gone   Slot   // highest slot that a promise showed to be truncated elsewhere
}

// see takes note of a ballot met anywhere. One above the own attempt ends that (M5).
func (l *leader) see(b ballot.Ballot, out *outbox) {
	l.seen = l.seen.Max(b)
	if l.phase != Following && l.ballot.Less(b) {
		l.preempt(out)
	}
}

// preempt ends leading for good under this ballot. From here on nothing is sent or counted under it: otherwise the
// leader could learn values from its successor, and its mark would then vouch for its own proposals, which are not
// chosen.
func (l *leader) preempt(out *outbox) {
	l.phase = Following
	l.preempted = true
	l.clear(out)
}

// retire stops leading. Nothing more is sent or counted under the ballot.
func (l *leader) retire(out *outbox) {
	l.phase, l.preempted, l.ballot = Following, false, ballot.Ballot{}
	l.clear(out)
}

func (l *leader) clear(out *outbox) {
	l.phase1 = phase1{}
	l.phase2 = phase2{}
	l.confirm.done = 0
	l.prompt = prompt{}
	l.stalePeers = true
	l.peers.reset()
	out.cancel(KindPrepare, func(Message) bool { return true })
}

// follow makes the peers the other nodes of r, and in Phase 1 those of the memberships it has met. A voter that is new
// is asked for its promise. A peer that goes is told how far the log is: this is how it learns that it went.
func (l *leader) follow(r roster, n Slot, a *acceptor, out *outbox) {
	l.stalePeers = false
	for _, s := range l.phase1.met {
		r = r.with(s.node, s.voter)
	}
	old := l.peers
	l.peers = make(peers, 0, len(r))
	for _, s := range r {
		if s.node == l.cfg.Self.Node {
			continue
		}
		p := peer{node: s.node, resend: minResendTicks}
		if known := old.get(s.node); known != nil {
			p = *known
		}
		p.voter = s.voter
		if p.voter && l.phase == Preparing && p.asked == 0 {
			p.asked = a.chosen + 1
			out.after(l.phase1.seq, l.prepare(&p))
		}
		l.peers = append(l.peers, p)
	}
	for i := range old {
		if p := &old[i]; l.phase == Leading && l.peers.get(p.node) == nil && p.told != n {
			l.sendMark(p, n, out)
		}
	}
}

// reached reports whether the nodes that count are a quorum of voters. Distinct nodes, and nobody else's votes.
func (l *leader) reached(voters quorum.Set, self bool, counts func(p *peer) bool) bool {
	var votes quorum.Set
	if self && voters.Has(l.cfg.Self.Node) {
		votes.Add(l.cfg.Self.Node)
	}
	for i := range l.peers {
		if p := &l.peers[i]; voters.Has(p.node) && counts(p) {
			votes.Add(p.node)
		}
	}
	return quorum.Reached(voters, votes)
}

// leads reports whether m answers what this node says as leader under its ballot.
func (l *leader) leads(m *Message) bool { return l.phase == Leading && m.Ballot == l.ballot }

// tick passes time while preparing or leading.
func (l *leader) tick(n Slot, a *acceptor, out *outbox) {
	switch l.phase {
	case Preparing:
		l.tickPrepare(out)
	case Leading:
		l.tickLeading(n, a, out)
	}
}

func (l *leader) tickLeading(n Slot, a *acceptor, out *outbox) {
	f := &l.phase2
	f.quiet++
	idle := f.quiet >= idleTicks
	if idle {
		f.quiet = 0
	}
	l.prompt.hurry = true
	l.flush(n, a, out) // before the marks: a peer fetches what it is told of and lacks
	for i := range l.peers {
		p := &l.peers[i]
		p.tick(l.owed(p, a))
		if idle || p.told != n {
			l.sendMark(p, n, out)
		}
	}
	if l.confirm.due() {
		l.sendConfirm(out)
	}
}

// sendMark tells a peer how far the log is, and how far it should have it.
func (l *leader) sendMark(p *peer, n Slot, out *outbox) {
	m := Message{Kind: KindMark, To: p.node, Ballot: l.ballot, Chosen: n}
	if p.next > 0 {
		m.Through = p.next - 1
	}
	p.told = n
	out.now(m)
}

// handleMarkReply sends again what the peer was sent and lacks: connections keep order, so it was lost.
func (l *leader) handleMarkReply(m *Message, chosen Slot) {
	p := l.peers.get(m.From)
	if p == nil || !l.leads(m) || m.Slot <= chosen || m.Slot >= p.next {
		return
	}
	p.rewind(m.Slot)
}

// advertise sends one peer at once what it has not been sent, and how far the log is if it has not been told.
func (l *leader) advertise(id ballot.NodeID, n Slot, a *acceptor, out *outbox) {
	p := l.peers.get(id)
	if l.phase != Leading || p == nil {
		return
	}
	l.send(p, &sharedPage{}, n, a, out)
	if p.told != n {
		l.sendMark(p, n, out)
	}
}

// connected starts over with a peer to which a new connection stands: what was in flight on the old one is lost.
func (l *leader) connected(p *peer, n Slot, a *acceptor, out *outbox) {
	switch l.phase {
	case Preparing:
		if l.phase1.own && p.owesPromise() {
			out.now(l.prepare(p))
		}
	case Leading:
		p.rewind(l.owed(p, a))
		p.probe, p.quiet, p.resend = true, 0, minResendTicks
		l.sendMark(p, n, out)
	}
}
