package explore

import (
	"slices"

	"tenure/internal/ballot"
)

// Acceptors with equal clocks are interchangeable here as they are for the lease (see leasesym.go). Requests have no addressee, so what a
// permutation relabels is the place of each acceptor and the voters inside proposers. Where replies travel there is no reduction.

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

// relabelled is the number of a proposer that has lived the same, but for the names of the acceptors: what led here the first time is lived
// again with other names.
func (l *rivalModel) relabelled(id, perm uint32) uint32 {
	x := l.proposers.get(id)
	if x.from == 0 || perm == 0 {
		return id
	}
	if x.relabels[perm] == 0 {
		arg := x.arg
		if x.by == opHear {
			m := l.messages.get(arg).m
			arg = l.message(m.saidBy(ballot.NodeID(l.perms[perm].place(uint8(m.from-1))) + 1))
		}
		x.relabels[perm] = uint32(l.stepProposer(x.by, l.relabelled(x.from, perm), arg))
	}
	return x.relabels[perm]
}

// canonical chooses the permutation under which the acceptors are in order, and among equals the one with the least fingerprint.
func (x *rivalExplorer) canonical(s *state) digest {
	l := x.l
	if len(l.perms) == 1 {
		return x.sum(s)
	}
	var best [maxAcceptors]digest
	ties, n := [6]uint32{}, 0
	for perm, p := range l.perms {
		var order [maxAcceptors]digest
		for i := range order {
			order[i] = l.acceptors.get(s[atAcceptors+int(p[i])]).sum
		}
		c := slices.CompareFunc(order[:], best[:], func(a, b digest) int {
			switch {
			case a.less(b):
				return -1
			case b.less(a):
				return 1
			}
			return 0
		})
		switch {
		case n == 0 || c < 0:
			ties[0], n, best = uint32(perm), 1, order
		case c == 0:
			ties[n] = uint32(perm)
			n++
		}
	}
	chosen := x.permute(s, ties[0])
	least := x.sum(&chosen)
	for _, perm := range ties[1:n] {
		other := x.permute(s, perm)
		if d := x.sum(&other); d.less(least) {
			chosen, least = other, d
		}
	}
	*s = chosen
	return least
}

// permute is s after permutation number perm.
func (x *rivalExplorer) permute(s *state, perm uint32) state {
	n := *s
	if perm == 0 {
		return n
	}
	for i := range x.l.c.Proposers {
		n[atProposers+i] = uint32(x.recall(opOther, s[atProposers+i], perm))
	}
	for i := range maxAcceptors {
		n[atAcceptors+i] = s[atAcceptors+int(x.l.perms[perm][i])]
	}
	return n
}

// sum is the fingerprint of a state as it stands.
func (x *rivalExplorer) sum(s *state) digest {
	l := x.l
	d := digest{uint64(s[atTime]), 5}
	for i := range l.c.Proposers {
		d = d.with(l.proposers.get(s[atProposers+i]).sum)
	}
	for i := range maxAcceptors {
		d = d.with(l.acceptors.get(s[atAcceptors+i]).sum)
	}
	return d.with(l.sets.get(s[atSent]).sum).with(l.sets.get(s[atReplies]).sum).end()
}
