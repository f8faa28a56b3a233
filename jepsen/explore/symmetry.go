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

// layout says what stands where in the states of a world, and what an exchange of acceptors does to it.
type layout struct {
	perms     []permutation // those that nothing tells apart; the first is the identity
	acceptors int
	rows      []row
	lives     lives
}

// row is a row of places in a state that hold parts of one kind.
type row struct {
	sums sums
	at   int // the first place
	n    int
	by   change
}

// sums returns the fingerprints of the parts of a kind.
type sums interface{ sum(id uint32) digest }

// change is what an exchange of acceptors does to a row.
type change uint8

const (
	same    change = iota // nothing: its parts name no acceptor
	swap                  // each place belongs to an acceptor: they change places
	relabel               // parts hold names of acceptors: each becomes the one that has lived the same with other names
	rename                // sets hold messages with names of acceptors
)

// lives says how to live a part's life again with other names.
type lives struct {
	of      func(id uint32) *lived
	again   func(from, by, arg uint32) uint32 // the part that comes of from by an input
	hears   uint32                            // the kind of input whose argument is a message
	renamed func(message, perm uint32) uint32 // the message as it would be if the acceptors had other names
}

// maxNodes bounds the acceptors of every world. Only the first three are ever exchanged.
const maxNodes = 5

// permutation p puts at place i what was at p[i].
type permutation [maxNodes]uint8

// permutations returns those of n acceptors that respect the rates; the first is the identity.
func permutations(n int, rates []time.Duration) []permutation {
	return permutationsOf(n, func(i, j int) bool { return rate(rates, i) == rate(rates, j) })
}

// permutationsOf returns those of n acceptors, of the first three of them, that exchange only what is alike; the first
// is the identity.
func permutationsOf(n int, alike func(i, j int) bool) []permutation {
	all := []permutation{{0, 1, 2, 3, 4}, {1, 0, 2, 3, 4}, {0, 2, 1, 3, 4}, {2, 1, 0, 3, 4}, {1, 2, 0, 3, 4},
		{2, 0, 1, 3, 4}}
	return slices.DeleteFunc(all, func(p permutation) bool {
		for i := range p {
			if (i >= n && int(p[i]) != i) || (i < n && (int(p[i]) >= n || !alike(i, int(p[i])))) {
				return true
			}
		}
		return false
	})
}

// place returns where p puts what was at i.
func (p permutation) place(i uint8) uint8 { return uint8(slices.Index(p[:], i)) }

// lived says how a part came about the first time, and what it is called after each permutation.
type lived struct {
	from     uint32 // 0: it was there from the start
	by, arg  uint32
	relabels [6]uint32
}

// relabelled returns the number of the part that has lived the same as part id, but for the names of the acceptors. It
// comes of the real code: what led here the first time is done once more, with other names.
func (y *layout) relabelled(id, perm uint32) uint32 {
	x := y.lives.of(id)
	if x.from == 0 || perm == 0 {
		return id
	}
	if x.relabels[perm] == 0 {
		arg := x.arg
		if x.by == y.lives.hears {
			arg = y.lives.renamed(arg, perm)
		}
		x.relabels[perm] = y.lives.again(y.relabelled(x.from, perm), x.by, arg)
	}
	return x.relabels[perm]
}

// renamedNode returns the name of an acceptor, counted from 0, after a permutation.
func (y *layout) renamedNode(i uint8, perm uint32) uint8 { return y.perms[perm].place(i) }

// sum returns d and the fingerprints of all parts of s.
func (y *layout) sum(d digest, s *state) digest {
	for _, r := range y.rows {
		for _, id := range s[r.at:][:r.n] {
			d = d.with(r.sums.sum(id))
		}
	}
	return d
}

// permute returns s after permutation number perm.
func (x *access[M]) permute(s *state, perm uint32) state {
	n := *s
	if perm == 0 {
		return n
	}
	y := &x.l.base().layout
	for _, r := range y.rows {
		switch r.by {
		case swap:
			for i, from := range y.perms[perm][:y.acceptors] {
				n[r.at+i] = s[r.at+int(from)]
			}
		case relabel, rename:
			op := opRelabel
			if r.by == rename {
				op = opRename
			}
			for i := range r.n {
				x.put(&n, r.at+i, op, perm)
			}
		}
	}
	return n
}

// symmetric is an explorer of a world with acceptors that can be exchanged.
type symmetric interface {
	base() *common
	// look returns what acceptor i and the messages to it look like, whatever their names.
	look(s *state, i int) digest
	permute(s *state, perm uint32) state
	// sum returns the fingerprint of a state as it stands.
	sum(s *state) digest
}

// canonical replaces s by its permutation under which the acceptors are in order, and among equals by the one with the
// least fingerprint, which it returns.
func canonical(x symmetric, s *state) digest {
	perms, n := x.base().perms, x.base().acceptors
	if len(perms) == 1 {
		return x.sum(s)
	}
	var looks, best [maxNodes]digest
	for i := range n {
		looks[i] = x.look(s, i)
	}
	ties, tied := [6]uint32{}, 0
	for perm, p := range perms {
		var order [maxNodes]digest
		for i := range n {
			order[i] = looks[p[i]]
		}
		switch c := slices.CompareFunc(order[:n], best[:n], digest.compare); {
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
