package explore

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// rivalProposerPart is a proposer in one local state, at one reading of its clock.
type rivalProposerPart struct {
	p        rivalProposer
	now      time.Duration
	who      uint8
	runs     uint8 // restarts
	draws    uint8 // attempts in all runs
	standing rivalStanding
	sum      digest

	// How the state came about the first time, and its relabellings: see relabelled.
	from     uint32
	by, arg  uint32
	relabels [6]uint32
}

// rivalAcceptorPart is an acceptor in one local state, at one reading of its clock.
type rivalAcceptorPart struct {
	a    rivalAcceptor
	now  time.Duration
	runs uint8
	vote string
	sum  digest
}

// rivalMessagePart is a request to all acceptors, or a reply.
type rivalMessagePart struct {
	m   rivalMessage
	sum digest
}

func (l *rivalModel) proposer(x rivalProposerPart) uint32 {
	x.standing = x.p.standing(x.now)
	key := append(l.scratch[:0], 'p', x.who, x.runs, x.draws)
	key = x.p.appendState(binary.AppendVarint(key, int64(x.now)), x.now)
	l.scratch = key
	if id := l.proposers.find(key); id != 0 {
		return id
	}
	x.sum = digestOf(key)
	return l.proposers.add(key, x)
}

func (l *rivalModel) acceptor(x rivalAcceptorPart) uint32 {
	x.vote = x.a.vote(x.now)
	key := append(l.scratch[:0], 'a', x.runs)
	key = x.a.appendState(binary.AppendVarint(key, int64(x.now)), x.now)
	l.scratch = key
	if id := l.acceptors.find(key); id != 0 {
		return id
	}
	x.sum = digestOf(key)
	return l.acceptors.add(key, x)
}

func (l *rivalModel) message(m rivalMessage) uint32 {
	key := fmt.Appendf(l.scratch[:0], "m%v", m.body)
	l.scratch = key
	if id := l.messages.find(key); id != 0 {
		return id
	}
	return l.messages.add(key, rivalMessagePart{m, digestOf(key)})
}

// set is the number of a set of messages, which it puts into an order that depends on what they say only.
func (l *rivalModel) set(ids []uint32) uint32 {
	slices.SortFunc(ids, func(a, b uint32) int {
		x, y := l.messages.get(a).sum, l.messages.get(b).sum
		switch {
		case x.less(y):
			return -1
		case y.less(x):
			return 1
		}
		return 0
	})
	ids = slices.Compact(ids)
	key := append(l.scratch[:0], 's')
	var sum digest
	for _, id := range ids {
		key = binary.LittleEndian.AppendUint32(key, id)
		sum = sum.plus(l.messages.get(id).sum)
	}
	l.scratch = key
	if id := l.sets.find(key); id != 0 {
		return id
	}
	return l.sets.add(key, setPart{ids: ids, sum: sum})
}
