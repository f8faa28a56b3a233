package explore

import (
	"slices"

	"tenure/internal/ballot"
)

// Acceptors with equal clocks are interchangeable here as they are for the lease (see symmetry.go). Requests have no
// addressee, so what a permutation relabels is the place of each acceptor and the voters inside proposers. Where
// replies travel there is no reduction.

// permutations are those that respect the clocks; the first is the identity.
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

func (l *rivalModel) relabelled(id, perm uint32) uint32 {
	x := l.proposers.get(id)
	return x.relabelled(id, perm, func() uint32 {
		arg := x.arg
		if x.by == opHear {
			m := l.messages.get(arg)
			arg = l.message(m.saidBy(ballot.NodeID(l.perms[perm].place(uint8(m.from-1))) + 1))
		}
		return uint32(l.stepProposer(x.by, l.relabelled(x.from, perm), arg))
	})
}

func (x *rivalExplorer) canonical(s *state) digest { return canonical(x, x.l.perms, maxAcceptors, s) }

func (x *rivalExplorer) look(s *state, i int) digest { return x.l.acceptors.sum(s[atAcceptors+i]) }

func (x *rivalExplorer) permute(s *state, perm uint32) state {
	n := *s
	if perm == 0 {
		return n
	}
	for i := range x.l.c.Proposers {
		x.put(&n, atProposers+i, opOther, perm)
	}
	for i, from := range x.l.perms[perm] {
		n[atAcceptors+i] = s[atAcceptors+from]
	}
	return n
}

func (x *rivalExplorer) sum(s *state) digest {
	l := x.l
	d := l.proposers.checkpoint(digest{uint64(s[atTime]), 5}, s[atProposers:][:l.c.Proposers])
	d = l.acceptors.checkpoint(d, s[atAcceptors:][:maxAcceptors])
	return d.with(l.sets.sum(s[atSent])).with(l.sets.sum(s[atReplies])).end()
}
