package explore

import (
	"slices"
	"time"

	"tenure/internal/ballot"
)

// Acceptors with equal clock rates are interchangeable. Nothing in the core compares acceptors: their ids only say where a message goes and
// which voters have answered, and quorums count. So a permutation of them maps runs to runs, and with them
// violations to violations; it is enough to go on from one state of each class. What a permutation must relabel is
// the place of each acceptor with its messages, the voters inside proposers, and the senders of replies on the way.
// Proposers are not interchangeable: ballots are ordered by their ids.

// permutation p puts at place i what was at p[i].
type permutation [maxAcceptors]uint8

// permutations are those of n acceptors that respect the rates; the first is the identity.
func permutations(n int, rates []time.Duration) []permutation {
	all := []permutation{{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}}
	return slices.DeleteFunc(all, func(p permutation) bool {
		for i := range p {
			if (i >= n && int(p[i]) != i) || (i < n && (int(p[i]) >= n || rate(rates, i) != rate(rates, int(p[i])))) {
				return true
			}
		}
		return false
	})
}

// place is where p puts what was at i.
func (p permutation) place(i uint8) uint8 { return uint8(slices.Index(p[:], i)) }

// relabelled is the number of a proposer that has lived the same, but for the names of the acceptors. It comes of
// the real code: what led here the first time is lived again with other names.
func (l *leaseModel) relabelled(id, perm uint32) uint32 {
	x := l.proposers.get(id)
	if x.from == 0 || perm == 0 {
		return id
	}
	if x.relabels[perm] == 0 {
		in := x.by
		if in&inKind == inHandle {
			in = inHandle | input(l.relabelledMessage(uint32(in&^inKind), perm))
		}
		to, _, _ := unstep(l.stepProposer(l.relabelled(x.from, perm), in))
		x.relabels[perm] = to
	}
	return x.relabels[perm]
}

func (l *leaseModel) relabelledMessage(id, perm uint32) uint32 {
	x := l.messages.get(id)
	if !x.reply {
		return id
	}
	m := x.m
	m.From = ballot.NodeID(l.perms[perm].place(uint8(m.From-1))) + 1
	return l.message(m)
}

func (l *leaseModel) relabelledSet(id, perm uint32) uint32 {
	ids := slices.Clone(l.sets.get(id).ids)
	for i := range ids {
		ids[i] = l.relabelledMessage(ids[i], perm)
	}
	slices.SortFunc(ids, l.before)
	return l.set(ids)
}

// permute is s after permutation number perm.
func (x *leaseExplorer) permute(s *state, perm uint32) state {
	if perm == 0 {
		return *s
	}
	l, n := x.l, *s
	p := l.perms[perm]
	for i := range l.c.Proposers {
		n[atProposers+i] = uint32(x.recall(key(opRelabel, s[atProposers+i], perm)))
		if l.c.Async {
			n[atReplies+i] = uint32(x.recall(key(opRelabelSet, s[atReplies+i], perm)))
		}
	}
	for i := range l.c.Acceptors {
		n[atAcceptors+i] = s[atAcceptors+int(p[i])]
		if l.c.Once {
			n[atSent+i] = s[atSent+int(p[i])]
		}
	}
	return n
}

// canonical chooses the permutation under which the acceptors, each with its messages, are in order, and among
// equals the one with the least fingerprint.
func (x *leaseExplorer) canonical(s *state) digest {
	l := x.l
	if len(l.perms) == 1 {
		return x.sum(s)
	}
	var keys, best [maxAcceptors]uint64
	for i := range l.c.Acceptors {
		keys[i] = l.acceptors.get(s[atAcceptors+i]).sum.lo
		if l.c.Once {
			keys[i] += l.sets.get(s[atSent+i]).sum.lo * 0x9e3779b97f4a7c15
		}
	}
	ties, n := [6]uint32{}, 0
	for perm, p := range l.perms {
		order := [maxAcceptors]uint64{keys[p[0]], keys[p[1]], keys[p[2]]}
		switch c := slices.Compare(order[:], best[:]); {
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
		if p := x.sum(&other); p.less(least) {
			chosen, least = other, p
		}
	}
	*s = chosen
	return least
}

// sum is the fingerprint of a state as it stands.
func (x *leaseExplorer) sum(s *state) digest {
	l := x.l
	p := digest{uint64(s[atFlags]), 1}
	for i := range l.c.Proposers {
		p = p.with(l.proposers.get(s[atProposers+i]).sum)
	}
	for i := range l.c.Acceptors {
		p = p.with(l.acceptors.get(s[atAcceptors+i]).sum)
	}
	for i := range l.boxes() {
		p = p.with(l.sets.get(s[atSent+i]).sum)
	}
	if l.c.Async {
		for i := range l.c.Proposers {
			p = p.with(l.sets.get(s[atReplies+i]).sum)
		}
	}
	return p.end()
}
