package multipaxos

// confirm is the leader's question to the voters whether anybody was promised more than its ballot.
type confirm struct {
	round uint64 // newest round started; rises through all attempts to lead
	done  uint64 // highest round that a quorum answered under the current ballot
	quiet int    // ticks since the newest round was sent
}

// due passes a tick and reports whether an unanswered round must be sent again.
func (f *confirm) due() bool {
	if f.done >= f.round {
		return false
	}
	f.quiet++
	return f.quiet >= confirmTicks
}

// startRound starts a new round and returns its number.
func (l *leader) startRound(a *acceptor, out *outbox) uint64 {
	l.confirm.round++
	if l.phase == Leading {
		l.sendConfirm(out)
		l.countConfirm(a)
	}
	return l.confirm.round
}

func (l *leader) sendConfirm(out *outbox) {
	l.confirm.quiet = 0
	for i := range l.peers {
		if p := &l.peers[i]; p.voter && p.round < l.confirm.round {
			out.now(Message{Kind: KindConfirm, To: p.node, Ballot: l.ballot, Round: l.confirm.round})
		}
	}
}

// handleConfirmed takes a voter's answer to a round.
func (l *leader) handleConfirmed(m *Message, a *acceptor) {
	p := l.peers.get(m.From)
	if p == nil || !l.leads(m) || m.Round > l.confirm.round {
		return
	}
	p.round = max(p.round, m.Round)
	l.countConfirm(a)
}

// countConfirm finds the highest round with a quorum of the membership that decides the first slot which is not chosen.
// The own acceptor answers at this moment, and without its consent there is none.
func (l *leader) countConfirm(a *acceptor) {
	if l.ballot.Less(a.promised) {
		return
	}
	voters := a.memberships.governing(a.chosen + 1).Voters
	for i := -1; i < len(l.peers); i++ {
		round := l.confirm.round
		if i >= 0 {
			round = l.peers[i].round
		}
		if round <= l.confirm.done {
			continue
		}
		if l.reached(voters, true, func(p *peer) bool { return p.round >= round }) {
			l.confirm.done = round
		}
	}
}
