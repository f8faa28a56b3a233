package explore

import (
	"encoding/binary"
	"fmt"
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
	lived
}

// rivalAcceptorPart is an acceptor in one local state, at one reading of its clock.
type rivalAcceptorPart struct {
	a    rivalAcceptor
	now  time.Duration
	runs uint8
	vote string
}

func (l *rivalModel) proposer(x rivalProposerPart) uint32 {
	x.standing = x.p.standing(x.now)
	key := append(l.proposers.buffer(), 'p', x.who, x.runs, x.draws)
	key = x.p.appendState(binary.AppendVarint(key, int64(x.now)), x.now)
	return l.proposers.number(key, x)
}

func (l *rivalModel) acceptor(x rivalAcceptorPart) uint32 {
	x.vote = x.a.vote(x.now)
	key := append(l.acceptors.buffer(), 'a', x.runs)
	key = x.a.appendState(binary.AppendVarint(key, int64(x.now)), x.now)
	return l.acceptors.number(key, x)
}

func (l *rivalModel) message(m rivalMessage) uint32 {
	return l.messages.number(fmt.Appendf(l.messages.buffer(), "m%v", m.body), m)
}
