package explore

import (
	"slices"

	"tenure/internal/ballot"
)

// Acceptors with equal clocks are interchangeable here as they are for the lease (see symmetry.go). Requests have no
// addressee, so what a permutation relabels is the place of each acceptor and the voters inside proposers. Where
// replies travel there is no reduction.

// permutations returns those that respect the clocks; the first is the identity.
func (c *RivalConfig) permutations() []permutation {
	all := permutations(maxAcceptors, nil)
	if c.Async {
		return all[:1]
	}
	return slices.DeleteFunc(all, func(p permutation) bool {
		for i, j := range p {
			a, b := c.Proposers+i, c.Proposers+int(j)
			if a != b && (c.ahead(a) != c.ahead(b) || c.shift(a) != 0 || c.shift(b) != 0) {
				return true
			}
		}
		return false
	})
}

func (l *rivalModel) layoutOf() layout {
	return layout{
		perms: l.c.permutations(), acceptors: maxAcceptors,
		rows: []row{
			{&l.proposers, atProposers, l.c.Proposers, relabel}, {&l.acceptors, atAcceptors, maxAcceptors, swap},
			{&l.sets, atSent, 1, same}, {&l.sets, atReplies, 1, same},
		},
		lives: lives{
			of:    func(id uint32) *lived { return &l.proposers.get(id).lived },
			again: func(from, by, arg uint32) uint32 { return uint32(l.stepProposer(by, from, arg)) },
			hears: opHear, renamed: l.renamedMessage,
		},
	}
}

// renamedMessage returns the number of a reply as another acceptor would have given it.
func (l *rivalModel) renamedMessage(id, perm uint32) uint32 {
	m := l.messages.get(id)
	return l.message(m.saidBy(ballot.NodeID(l.renamedNode(uint8(m.from-1), perm)) + 1))
}

func (x *rivalExplorer) canonical(s *state) digest { return canonical(x, s) }

func (x *rivalExplorer) look(s *state, i int) digest { return x.l.acceptors.sum(s[atAcceptors+i]) }

func (x *rivalExplorer) sum(s *state) digest {
	return x.l.layout.sum(digest{uint64(s[atTime]), 5}, s).end()
}
