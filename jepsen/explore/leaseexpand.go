package explore

import (
	"time"

	"tenure/lease"
)

// The kinds of action, in the order in which they are tried.
const (
	actTick uint8 = iota
	actStart
	actAbandon
	actRelease
	actResend
	actRestartProposer
	actRestartAcceptor
	actDeliver // a request; its reply, if there is one, arrives at once or travels
	actLose    // a request; its reply is lost
	actReply   // a reply that travelled
	actGuardian
)

func (x *leaseExplorer) expand(s *state, emit func(next *state, a action)) {
	try := func(a action) {
		n := *s
		if x.apply(&n, a) && n != *s {
			emit(&n, a)
		}
	}
	try(action{kind: actTick})
	for i := range x.l.c.Proposers {
		x.expandProposer(s, uint8(i), try)
	}
	for i := range x.l.c.Acceptors {
		x.expandAcceptor(s, uint8(i), try)
	}
}

func (x *leaseExplorer) expandProposer(s *state, i uint8, try func(a action)) {
	c := &x.l.c
	p := x.l.proposers.get(s[atProposers+i])
	if (c.Renew || !p.held) && (c.Retry || !p.busy || p.late) {
		for counter := 1; counter <= c.Ballots; counter++ {
			for d := range c.Durations {
				try(action{kind: actStart, who: i, how: uint8(d), arg: uint32(counter)})
			}
		}
	}
	if c.Retry {
		try(action{kind: actAbandon, who: i})
	}
	if c.Release {
		try(action{kind: actRelease, who: i})
	}
	if c.Retry && c.Once {
		try(action{kind: actResend, who: i})
	}
	if x.restarts(s) < c.ProposerRestarts {
		try(action{kind: actRestartProposer, who: i})
	}
	if c.Guardian {
		try(action{kind: actGuardian, who: i})
	}
	if c.Async {
		for _, m := range x.l.sets.get(s[atReplies+i]).ids {
			try(action{kind: actReply, who: i, arg: m})
		}
	}
}

func (x *leaseExplorer) expandAcceptor(s *state, i uint8, try func(a action)) {
	c := &x.l.c
	if c.AcceptorRestarts {
		for m := range c.longest() {
			try(action{kind: actRestartAcceptor, to: i, how: uint8(m)})
		}
	}
	box := s[atSent]
	if c.Once {
		box = s[atSent+i]
	}
	for _, m := range x.l.sets.get(box).ids {
		try(action{kind: actDeliver, to: i, arg: m})
		if c.LoseReplies && !c.Async {
			try(action{kind: actLose, to: i, arg: m})
		}
	}
}

func (x *leaseExplorer) restarts(s *state) int {
	n := 0
	for i := range x.l.c.Proposers {
		n += int(x.l.proposers.get(s[atProposers+i]).runs)
	}
	return n
}

// apply does one action to s. It is false if the action cannot be taken.
func (x *leaseExplorer) apply(s *state, a action) bool {
	switch a.kind {
	case actTick:
		x.tick(s)
	case actStart:
		return x.proposer(s, a.who, inStart|input(a.arg*maxDurations+uint32(a.how)))
	case actAbandon:
		return x.proposer(s, a.who, inAbandon)
	case actRelease:
		return x.proposer(s, a.who, inRelease)
	case actResend:
		return x.proposer(s, a.who, inResend)
	case actRestartProposer:
		at := atProposers + int(a.who)
		x.guardian(s, a.who, true)
		s[at] = uint32(x.recall(key(opRestart, s[at], 0)))
		s[atFlags] &^= flagGap << a.who
	case actRestartAcceptor:
		at := atAcceptors + int(a.to)
		s[at] = uint32(x.recall(key(opInstall, s[at], uint32(a.how))))
	case actDeliver, actLose:
		return x.deliver(s, a)
	case actGuardian:
		return x.guardian(s, a.who, false)
	case actReply:
		if x.l.c.Once {
			s[atReplies+a.who] = uint32(x.recall(key(opDrop, s[atReplies+a.who], a.arg)))
		}
		return x.proposer(s, a.who, inHandle|input(a.arg))
	}
	return true
}

// guardian has the guardian of a proposer say what it has to say, if it may: the proposer has died, or it has not. All rounds
// are one, since what is sent may arrive at any time, or never.
func (x *leaseExplorer) guardian(s *state, i uint8, died bool) bool {
	if !x.l.c.Guardian {
		return false
	}
	var g lease.Guardian
	if died {
		g.Died(0)
	}
	if !g.Due(time.Hour) {
		return false
	}
	out := uint32(x.recall(key(opGuardian, s[atProposers+i], 0)))
	if out != 0 {
		x.send(s, out)
	}
	return out != 0
}

func (x *leaseExplorer) tick(s *state) {
	for i := range x.l.c.Proposers {
		id, _, _ := unstep(x.recall(key(opProposer, s[atProposers+i], uint32(inPass))))
		s[atProposers+i] = id
	}
	for i := range x.l.c.Acceptors {
		s[atAcceptors+i] = uint32(x.recall(key(opPass, s[atAcceptors+i], uint32(i))))
	}
}

// proposer is one step of proposer i. What it sends is on its way to all it is for.
func (x *leaseExplorer) proposer(s *state, i uint8, in input) bool {
	v := x.recall(key(opProposer, s[atProposers+i], uint32(in)))
	if v == 0 {
		return false
	}
	id, out, fresh := unstep(v)
	s[atProposers+i] = id
	if out != 0 {
		x.send(s, out)
	}
	if x.l.c.Epochs {
		x.follow(s, i, fresh)
	}
	return true
}

func (x *leaseExplorer) send(s *state, out uint32) {
	if !x.l.c.Once {
		s[atSent] = uint32(x.recall(key(opAdd, s[atSent], out<<2|maxAcceptors)))
		return
	}
	for j := range uint32(x.l.c.Acceptors) {
		s[atSent+j] = uint32(x.recall(key(opAdd, s[atSent+j], out<<2|j)))
	}
}

// deliver hands a request to an acceptor, and its reply on. A reply to a proposer without an attempt in progress is lost
// where nothing is resent: it could only raise the counter, which a start may skip anyway, or be counted by a won
// attempt, which only Resend asks about.
func (x *leaseExplorer) deliver(s *state, a action) bool {
	l := x.l
	if l.c.Once {
		s[atSent+a.to] = uint32(x.recall(key(opDrop, s[atSent+a.to], a.arg)))
	}
	v := x.recall(key(opAcceptor, s[atAcceptors+a.to], a.arg<<2|uint32(a.to)))
	s[atAcceptors+a.to] = uint32(v & (1<<32 - 1))
	reply := uint32(v >> 32)
	if reply == 0 {
		return a.kind == actDeliver
	}
	if a.kind == actLose {
		return true
	}
	who := l.messages.get(reply).who
	if l.c.Async {
		s[atReplies+who] = uint32(x.recall(key(opInclude, s[atReplies+who], reply)))
		return true
	}
	if !l.proposers.get(s[atProposers+who]).busy && !l.resends() {
		return true
	}
	return x.proposer(s, who, inHandle|input(reply))
}

func (l *leaseModel) resends() bool { return l.c.Retry && l.c.Once }

// follow keeps the flags of M1 after a step of proposer i.
func (x *leaseExplorer) follow(s *state, i uint8, fresh bool) {
	l := x.l
	if !l.proposers.get(s[atProposers+i]).held {
		return
	}
	if s[atFlags]&(flagGap<<i) != 0 && !fresh {
		s[atFlags] |= flagBroken << i
	}
	s[atFlags] &^= flagGap << i
	for j := range l.c.Proposers {
		if j != int(i) && l.proposers.get(s[atProposers+j]).ever {
			s[atFlags] |= flagGap << j
		}
	}
}
