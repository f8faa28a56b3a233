package explore

import "tenure/internal/ballot"

func (l *leaseModel) layoutOf() layout {
	c := &l.c
	sent := row{&l.sets, atSent, 1, same}
	if c.Once {
		sent.n, sent.by = c.Acceptors, swap
	}
	y := layout{
		perms: permutations(c.Acceptors, c.AcceptorRates), acceptors: c.Acceptors,
		rows: []row{{&l.proposers, atProposers, c.Proposers, relabel}, {&l.acceptors, atAcceptors, c.Acceptors, swap},
			sent},
		lives: lives{
			of:    func(id uint32) *lived { return &l.proposers.get(id).lived },
			again: func(from, by, arg uint32) uint32 { return uint32(l.stepProposer(from, by|arg)) },
			hears: inHandle, renamed: l.renamedMessage,
		},
	}
	if c.Async {
		y.rows = append(y.rows, row{&l.sets, atReplies, c.Proposers, rename})
	}
	return y
}

func (l *leaseModel) renamedMessage(id, perm uint32) uint32 {
	x := l.messages.get(id)
	if !x.reply {
		return id
	}
	m := x.m
	m.From = ballot.NodeID(l.renamedNode(uint8(m.From-1), perm)) + 1
	return l.message(m)
}

func (x *leaseExplorer) canonical(s *state) digest { return canonical(x, s) }

func (x *leaseExplorer) look(s *state, i int) digest {
	d := digest{lo: x.l.acceptors.sum(s[atAcceptors+i]).lo}
	if x.l.c.Once {
		d.lo += x.l.sets.sum(s[atSent+i]).lo * 0x9e3779b97f4a7c15
	}
	return d
}

func (x *leaseExplorer) sum(s *state) digest {
	return x.l.layout.sum(digest{uint64(s[atFlags]), 1}, s).end()
}
