package explore

import (
	"time"

	"tenure/internal/ballot"
)

// atTime, in a rival's state, is the time in ticks, and from bit 8 on which clocks have shifted. Sent messages are at
// atSent, and replies on their way back at atReplies.
const atTime = 10

// rivalModel is the model of a RivalConfig. Everything in it but c is guarded by memo.mu.
type rivalModel struct {
	c RivalConfig
	common
	proposers interned[rivalProposerPart]
	acceptors interned[rivalAcceptorPart]
	messages  interned[rivalMessage]
	blocked   map[digest]bool // states in which nobody can own until a vote has run out
}

func newRivalModel(c RivalConfig) *rivalModel {
	l := &rivalModel{c: c, blocked: map[digest]bool{}}
	l.prepare(l.messages.sum, l.layoutOf())
	for i := range c.Proposers {
		l.first[atProposers+i] = l.proposer(rivalProposerPart{p: c.bootProposer(uint8(i), 0, 0), now: c.ahead(i),
			who: uint8(i)})
	}
	for i := range maxAcceptors {
		l.first[atAcceptors+i] = l.acceptor(rivalAcceptorPart{a: c.bootAcceptor(0), now: c.ahead(c.Proposers + i)})
	}
	l.first[atSent], l.first[atReplies] = l.sets.of(nil), l.sets.of(nil)
	return l
}

func (l *rivalModel) explorer() explorer {
	return &rivalExplorer{access[*rivalModel]{l: l, cache: new(cache)}}
}

// The operations of the memo.
const (
	opAsk    uint32 = iota + 1 // proposer: start
	opHear                     // proposer, message
	opClock                    // proposer, reading in ms
	opReboot                   // proposer
	opAnswer                   // acceptor, request and place
	opTimeAt                   // acceptor, reading in ms
	opForget                   // acceptor
)

// compute runs the real code once for a part and an input; see memo. A step's output is in the upper half.
func (l *rivalModel) compute(op, a, b uint32) uint64 {
	switch op {
	case opAsk, opHear, opClock, opReboot:
		return l.stepProposer(op, a, b)
	case opAnswer, opTimeAt, opForget:
		return l.stepAcceptor(op, *l.acceptors.get(a), b)
	}
	panic("explore: unknown operation")
}

func (l *rivalModel) stepProposer(op, id, arg uint32) uint64 {
	x := *l.proposers.get(id)
	x.p, x.lived = x.p.clone(), lived{from: id, by: op, arg: arg}
	var out uint32
	send := func(m rivalMessage, ok bool) {
		if ok {
			out = l.message(m)
		}
	}
	switch op {
	case opAsk:
		x.draws++
		send(x.p.start(x.now))
	case opHear:
		send(x.p.handle(x.now, *l.messages.get(arg)))
	case opClock:
		x.now = max(x.now, time.Duration(arg)*ms)
	case opReboot:
		x.runs++
		x.p = l.c.bootProposer(x.who, x.runs, x.now+l.c.wait())
	}
	return stepped(l.proposer(x), out)
}

func (l *rivalModel) stepAcceptor(op uint32, x rivalAcceptorPart, arg uint32) uint64 {
	x.a = x.a.clone()
	var out uint32
	switch op {
	case opAnswer:
		if reply, ok := x.a.handle(x.now, *l.messages.get(arg >> 2), ballot.NodeID(arg&3)+1); ok {
			out = l.message(reply)
		}
	case opTimeAt:
		x.now = max(x.now, time.Duration(arg)*ms)
	case opForget:
		x.runs++
		x.a = l.c.bootAcceptor(x.now + l.c.wait())
	}
	return stepped(l.acceptor(x), out)
}

// rivalExplorer is one goroutine's access to a rivalModel.
type rivalExplorer struct{ access[*rivalModel] }

// The kinds of a rival's action are those of the lease, and this one.
const actShift uint8 = 100

func (x *rivalExplorer) expand(s *state, emit func(next *state, a action)) {
	try := trying(s, x.apply, emit)
	l, c := x.l, &x.l.c
	try(action{kind: actTick})
	for i := range c.Proposers + maxAcceptors {
		if c.shift(i) != 0 && s[atTime]>>(8+i)&1 == 0 {
			try(action{kind: actShift, who: uint8(i)})
		}
	}
	runs, draws := 0, 0
	for i := range c.Proposers {
		p := l.proposers.get(s[atProposers+i])
		runs, draws = runs+int(p.runs), draws+int(p.draws)
	}
	for i := range c.Proposers {
		if draws < c.Draws && (c.Retry || !l.proposers.get(s[atProposers+i]).standing.busy) {
			try(action{kind: actStart, who: uint8(i)})
		}
		if runs < c.ProposerRestarts {
			try(action{kind: actRestartProposer, who: uint8(i)})
		}
	}
	runs = 0
	for i := range maxAcceptors {
		runs += int(l.acceptors.get(s[atAcceptors+i]).runs)
	}
	for i := range maxAcceptors {
		if runs < c.Restarts {
			try(action{kind: actRestartAcceptor, to: uint8(i)})
		}
	}
	for _, m := range l.sets.list(s[atSent]) {
		for to := range uint8(maxAcceptors) {
			try(action{kind: actDeliver, to: to, arg: m})
			if c.LoseReplies {
				try(action{kind: actLose, to: to, arg: m})
			}
		}
	}
	for _, m := range l.sets.list(s[atReplies]) {
		try(action{kind: actReply, who: uint8(l.messages.get(m).to - firstProposer), arg: m})
	}
}

func (x *rivalExplorer) apply(s *state, a action) bool {
	switch a.kind {
	case actTick:
		if int(s[atTime]&0xff) >= x.l.c.Ticks {
			return false
		}
		s[atTime]++
		for i := range x.l.c.Proposers + maxAcceptors {
			x.setClock(s, i)
		}
	case actShift:
		s[atTime] |= 1 << (8 + a.who)
		x.setClock(s, int(a.who))
	case actStart:
		x.proposer(s, a.who, opAsk, 0)
	case actRestartProposer:
		x.proposer(s, a.who, opReboot, 0)
	case actRestartAcceptor:
		x.put(s, atAcceptors+int(a.to), opForget, 0)
	case actDeliver, actLose:
		reply, _ := x.step(s, atAcceptors+int(a.to), opAnswer, a.arg<<2|uint32(a.to))
		switch {
		case reply == 0:
			return a.kind == actDeliver
		case x.l.c.Async:
			x.put(s, atReplies, opWith, reply)
		case a.kind == actDeliver:
			x.proposer(s, uint8(x.l.messages.get(reply).to-firstProposer), opHear, reply)
		}
	case actReply:
		x.proposer(s, a.who, opHear, a.arg)
	}
	return true
}

// setClock has a process read what its clock shows at the time of s.
func (x *rivalExplorer) setClock(s *state, i int) {
	c := &x.l.c
	reading := time.Duration(s[atTime]&0xff)*ms + c.ahead(i)
	if s[atTime]>>(8+i)&1 == 1 {
		reading += c.shift(i)
	}
	at, op := atProposers+i, opClock
	if i >= c.Proposers {
		at, op = atAcceptors+i-c.Proposers, opTimeAt
	}
	x.put(s, at, op, uint32(reading/ms))
}

// proposer makes one step of a proposer. What it sends is then on its way.
func (x *rivalExplorer) proposer(s *state, i uint8, op, arg uint32) {
	if out, _ := x.step(s, atProposers+int(i), op, arg); out != 0 {
		x.put(s, atSent, opWith, out)
	}
}

// broken is what must never be: two owners at a time. In the majority vote it also counts the states in which nobody
// owns and nobody can, since every vote is given and no request has a majority.
func (x *rivalExplorer) broken(s *state) string {
	l, owners := x.l, 0
	for i := range l.c.Proposers {
		if l.proposers.get(s[atProposers+i]).standing.held {
			owners++
		}
	}
	if owners > 1 {
		return "two owners"
	}
	if l.c.Core != coreMajority || owners > 0 {
		return ""
	}
	var votes [maxAcceptors]string
	for i := range maxAcceptors {
		if votes[i] = l.acceptors.get(s[atAcceptors+i]).vote; votes[i] == "" {
			return ""
		}
	}
	if votes[0] == votes[1] || votes[1] == votes[2] || votes[0] == votes[2] {
		return ""
	}
	n := *s
	d := x.canonical(&n)
	l.mu.Lock()
	l.blocked[d] = true
	l.mu.Unlock()
	if l.c.Blocked {
		return "nobody can own until a vote has run out"
	}
	return ""
}
