package explore

import (
	"tenure/internal/ballot"
	"tenure/lease"
	"tenure/server/replica"
)

// The kinds of action in the world of changing members.
const (
	chTick uint8 = iota
	chPropose
	chAcknowledge
	chStart
	chRelease
	chLearn
	chRestart
	chDeliver
)

func (x *changeExplorer) expand(s *state, emit func(next *state, a action)) {
	l, c, g := x.l, &x.l.c, unpackChanges(s[atLog])
	try := trying(s, x.apply, emit)
	try(action{kind: chTick})
	if g.mayPropose(c.Chain) {
		try(action{kind: chPropose})
	}
	for acked := range uint32(1) << l.nodes {
		if g.asks() && (c.Late || acked == 0) {
			try(action{kind: chAcknowledge, arg: acked})
		}
	}
	for i := range uint8(changeProposers) {
		p := l.proposers.get(s[atTryers+i])
		for of := range uint8(len(l.all)) {
			for counter := 1; counter <= c.Ballots && g.inForce(int(of), &c.Lost); counter++ {
				if (c.Renew || !p.held) && (!p.busy || p.late) {
					try(action{kind: chStart, who: i, how: of, arg: uint32(counter)})
				}
			}
		}
		if c.Release {
			try(action{kind: chRelease, who: i})
		}
	}
	for i := range uint8(l.nodes) {
		if n := l.acceptors.get(s[atVoters+i]).a.Membership(); int(n) < g.chosen && !c.Late {
			try(action{kind: chLearn, to: i})
		}
		if g.restarts < c.Restarts {
			try(action{kind: chRestart, to: i})
		}
		for _, m := range l.sets.list(s[atAsks]) {
			if of := l.messages.get(m).of; of == toAll || l.all[of].Has(ballot.NodeID(i+1)) {
				try(action{kind: chDeliver, to: i, arg: m})
			}
		}
	}
}

// apply does one action to s. It reports false if the action cannot be taken.
func (x *changeExplorer) apply(s *state, a action) bool {
	g := unpackChanges(s[atLog])
	switch a.kind {
	case chTick:
		x.tick(s, &g)
	case chPropose:
		g.chosen++
	case chAcknowledge:
		if !x.acknowledge(s, &g, a.arg) {
			return false
		}
	case chStart:
		return x.proposer(s, a.who, inStart|a.arg<<8|uint32(a.how))
	case chRelease:
		return x.proposer(s, a.who, inRelease)
	case chLearn:
		x.put(s, atVoters+int(a.to), opLearn, uint32(x.l.acceptors.get(s[atVoters+a.to]).a.Membership())+1)
	case chRestart:
		g.restarts++
		x.put(s, atVoters+int(a.to), opInstall, 0)
	case chDeliver:
		x.deliver(s, a)
	}
	s[atLog] = g.pack()
	return true
}

func (x *changeExplorer) tick(s *state, g *changes) {
	for i := range changeProposers {
		x.put(s, atTryers+i, opProposer, inPass)
	}
	for i := range x.l.nodes {
		x.put(s, atVoters+i, opPass, uint32(i))
	}
	g.pass(x.l.c.masterRate())
}

// acknowledge has the master count the acceptors that have the newest membership in force. Those in late go over now;
// each of them must be needed.
func (x *changeExplorer) acknowledge(s *state, g *changes, late uint32) bool {
	for i := range x.l.nodes {
		if late>>i&1 == 0 {
			continue
		}
		if int(x.l.acceptors.get(s[atVoters+i]).a.Membership()) == g.chosen {
			return false
		}
		if without := *g; x.count(s, &without, late&^(1<<i)) {
			return false
		}
	}
	for i := range x.l.nodes {
		if late>>i&1 != 0 {
			x.put(s, atVoters+i, opLearn, uint32(g.chosen))
		}
	}
	return x.count(s, g, 0)
}

// count has the master count the acknowledgements, with those in late as if they had gone over.
func (x *changeExplorer) count(s *state, g *changes, late uint32) bool {
	acked := make([]replica.Acknowledgement, 0, maxNodes)
	for i := range x.l.nodes {
		if v := x.l.acceptors.get(s[atVoters+i]); late>>i&1 != 0 || int(v.a.Membership()) == g.chosen {
			acked = append(acked, replica.Acknowledgement{Node: ballot.NodeID(i + 1), Excluding: v.a.OlderExclusion(v.now)})
		}
	}
	return g.acknowledge(x.l.c.Chain, x.l.c.timing(), acked)
}

// proposer makes one step of proposer i. What it sends is then on its way to everybody it is for.
func (x *changeExplorer) proposer(s *state, i uint8, in uint32) bool {
	sent, ok := x.step(s, atTryers+int(i), opProposer, in)
	if sent != 0 {
		x.put(s, atAsks, opUnion, sent)
	}
	return ok
}

func (x *changeExplorer) deliver(s *state, a action) {
	reply, _ := x.step(s, atVoters+int(a.to), opAcceptor, a.arg<<3|uint32(a.to))
	if reply == 0 {
		return
	}
	if who := x.l.messages.get(reply).who; x.l.proposers.get(s[atTryers+who]).busy {
		x.proposer(s, who, inHandle|reply)
	}
}

// opLearn: an acceptor has a membership in force.
const opLearn uint32 = 100

// compute runs the real code once for a part and an input; see memo.
func (l *changeModel) compute(op, a, b uint32) uint64 {
	if op == opProposer {
		return l.stepProposer(a, b)
	}
	x := *l.acceptors.get(a)
	x.a = x.a.Clone()
	switch op {
	case opAcceptor:
		q := l.messages.get(b >> 3)
		m := q.m
		m.To = 1
		answer := uint32(0)
		if reply, ok := x.a.Handle(x.now, m); ok {
			reply.From = ballot.NodeID(b&7) + 1
			answer = l.message(changeMessage{m: reply, of: q.of, who: q.who, reply: true})
		}
		return stepped(l.acceptor(x), answer)
	case opLearn:
		x.a.SetMembership(uint64(b))
	case opInstall:
		silence, err := l.c.timing().Quarantine()
		if err != nil {
			panic(err)
		}
		return uint64(l.install(x.a.Membership(), silence))
	case opPass:
		x.now += l.c.acceptorRate(int(b))
	default:
		panic("explore: unknown operation")
	}
	return uint64(l.acceptor(x))
}

func (l *changeModel) stepProposer(id, in uint32) uint64 {
	x := *l.proposers.get(id)
	x.p = x.p.Clone()
	arg := in &^ inKind
	x.lived = lived{from: id, by: in & inKind, arg: arg}
	var sent []lease.Message
	switch x.by {
	case inStart:
		counter, of := uint64(arg>>8), uint8(arg)
		number := uint64(of) + 1
		if int(of) == len(l.c.Chain) {
			number = 2
		}
		if int(x.draws) == l.c.Draws || number < x.p.Membership() {
			return 0
		}
		x.p.SetMembership(number, l.all[of])
		x.p.ContinueAbove(ballot.Ballot{Counter: counter - 1})
		sent = x.p.Start(x.now)
		if x.p.Attempt().Ballot.Counter != counter {
			return 0
		}
		x.draws++
		x.of = of
	case inHandle:
		sent = x.p.Handle(x.now, l.messages.get(arg).m)
	case inPass:
		x.now += l.c.proposerRate(int(x.who))
	case inRelease:
		sent = x.p.Release(x.now)
	}
	return stepped(l.proposer(x), l.gather(&x, sent))
}
