package explore

import (
	"slices"
	"time"
)

// Acceptors with equal clock rates are interchangeable. Nothing in the cores compares acceptors: their ids only say
// where a message goes and which voters have answered, and quorums count. So a permutation of them maps runs to runs,
// and with them violations to violations; it is enough to go on from one state of each class. What a permutation must
// relabel is the place of each acceptor with its messages, the voters inside proposers, and the senders of replies on
// the way. Proposers are not interchangeable: ballots are ordered by their ids.

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

// lived says how a part came about the first time, and what it is called after each permutation.
type lived struct {
	from     uint32 // 0: it was there from the start
	by, arg  uint32
	relabels [6]uint32
}

// relabelled is the number of the part that has lived the same as part id, but for the names of the acceptors. It comes
// of the real code: again lives what led here the first time once more, with other names.
func (x *lived) relabelled(id, perm uint32, again func() uint32) uint32 {
	if x.from == 0 || perm == 0 {
		return id
	}
	if x.relabels[perm] == 0 {
		x.relabels[perm] = again()
	}
	return x.relabels[perm]
}

// symmetric is an explorer of a world with acceptors that can be exchanged.
type symmetric interface {
	// look is what acceptor i and the messages to it look like, whatever their names.
	look(s *state, i int) digest
	// permute is s after permutation number perm.
	permute(s *state, perm uint32) state
	// sum is the fingerprint of a state as it stands.
	sum(s *state) digest
}

// canonical chooses, of n acceptors, the permutation under which they are in order, and among equals the one with the
// least fingerprint.
func canonical(x symmetric, perms []permutation, n int, s *state) digest {
	if len(perms) == 1 {
		return x.sum(s)
	}
	var looks, best [maxAcceptors]digest
	for i := range n {
		looks[i] = x.look(s, i)
	}
	ties, tied := [6]uint32{}, 0
	for perm, p := range perms {
		order := [maxAcceptors]digest{looks[p[0]], looks[p[1]], looks[p[2]]}
		switch c := slices.CompareFunc(order[:], best[:], digest.compare); {
		case tied == 0 || c < 0:
			ties[0], tied, best = uint32(perm), 1, order
		case c == 0:
			ties[tied] = uint32(perm)
			tied++
		}
	}
	chosen := x.permute(s, ties[0])
	least := x.sum(&chosen)
	for _, perm := range ties[1:tied] {
		other := x.permute(s, perm)
		if d := x.sum(&other); d.compare(least) < 0 {
			chosen, least = other, d
		}
	}
	*s = chosen
	return least
}
