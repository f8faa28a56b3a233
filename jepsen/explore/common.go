package explore

import (
	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

const (
	proposerNames = "pqr"
	firstProposer = 11 // node id of the first proposer; acceptors are 1, 2, 3
)

// common is the part that all models share: the memo of the real code's steps, the sets of messages on their way, the
// layout of a state, and the first state. Everything in it but its layout is guarded by memo.mu.
type common struct {
	memo
	layout
	sets  messageSets
	first state
}

// prepare begins a model whose messages have these fingerprints.
func (c *common) prepare(message func(id uint32) digest, l layout) {
	c.layout, c.done = l, map[uint64]uint64{}
	c.sets.message = message
	c.sets.order = func(a, b uint32) int { return message(a).compare(message(b)) }
}

func (c *common) base() *common { return c }

func (c *common) start() state { return c.first }

// The operations of the memo that are the same in all models. Those of a model are numbered from 1.
const (
	opUnion   uint32 = iota + 250 // set, set
	opWith                        // set, message
	opWithout                     // set, message
	opRename                      // set, permutation
	opRelabel                     // part, permutation
)

func (c *common) shared(op, a, b uint32) uint32 {
	switch op {
	case opUnion:
		return c.sets.union(a, b)
	case opWith:
		return c.sets.with(a, b)
	case opWithout:
		return c.sets.without(a, b)
	case opRename:
		ids := make([]uint32, 0, len(c.sets.list(a)))
		for _, id := range c.sets.list(a) {
			ids = append(ids, c.lives.renamed(id, b))
		}
		return c.sets.of(ids)
	case opRelabel:
		return c.relabelled(a, b)
	}
	panic("explore: unknown operation")
}

// access is one goroutine's access to a model.
type access[M interface {
	base() *common
	// compute runs the real code once for a part and an input; see memo.
	compute(op, a, b uint32) uint64
}] struct {
	l     M
	cache *cache
}

func (x *access[M]) base() *common { return x.l.base() }

// recall returns what an operation once gave: found in the cache, in the memo, or computed now, under the memo's lock.
func (x *access[M]) recall(op, a, b uint32) uint64 {
	k := key(op, a, b)
	s := x.cache.slot(k)
	if s.key == k {
		return s.value
	}
	c := x.l.base()
	c.mu.Lock()
	v, ok := c.done[k]
	if !ok {
		if op >= opUnion {
			v = uint64(c.shared(op, a, b))
		} else {
			v = x.l.compute(op, a, b)
		}
		c.done[k] = v
	}
	c.mu.Unlock()
	s.key, s.value = k, v
	return v
}

// put is recall for an operation whose result is nothing but a part: it replaces the part at place.
func (x *access[M]) put(s *state, place int, op, arg uint32) {
	s[place] = uint32(x.recall(op, s[place], arg))
}

// step is recall for an operation that gives a part and, in the upper half, what it sent. It replaces the part at place
// and reports false if the step cannot be taken.
func (x *access[M]) step(s *state, place int, op, arg uint32) (sent uint32, ok bool) {
	v := x.recall(op, s[place], arg)
	if v == 0 {
		return 0, false
	}
	s[place] = uint32(v)
	return uint32(v >> 32), true
}

// stepped packs a part and what it sent, as step reads them.
func stepped(id, sent uint32) uint64 { return uint64(sent)<<32 | uint64(id) }

// trying returns a function that applies an action to s and emits the next state, if the action is possible and changes
// s.
func trying(s *state, apply func(s *state, a action) bool, emit func(next *state, a action)) func(a action) {
	return func(a action) {
		n := *s
		if apply(&n, a) && n != *s {
			emit(&n, a)
		}
	}
}

// incarnation returns a run of a proposer.
func incarnation(who, run uint8) ballot.Incarnation {
	return ballot.Incarnation{Restart: uint64(run), Node: firstProposer + ballot.NodeID(who), Nonce: 100 + uint64(run)}
}

// voters returns the nodes 1 to n.
func voters(n int) quorum.Set {
	var s quorum.Set
	for i := range n {
		s.Add(ballot.NodeID(i + 1))
	}
	return s
}
