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
	try := trying(s, x.apply, emit)
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
		for _, m := range x.l.sets.list(s[atReplies+i]) {
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
	for _, m := range x.l.sets.list(box) {
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

// apply does one action to s. It reports false if the action cannot be taken.
func (x *leaseExplorer) apply(s *state, a action) bool {
	switch a.kind {
	case actTick:
		x.tick(s)
	case actStart:
		return x.proposer(s, a.who, inStart|(a.arg*maxDurations+uint32(a.how)))
	case actAbandon:
		return x.proposer(s, a.who, inAbandon)
	case actRelease:
		return x.proposer(s, a.who, inRelease)
	case actResend:
		return x.proposer(s, a.who, inResend)
	case actRestartProposer:
		x.guardian(s, a.who, true)
		x.put(s, atProposers+int(a.who), opRestart, 0)
		s[atFlags] &^= flagGap << a.who
	case actRestartAcceptor:
		x.put(s, atAcceptors+int(a.to), opInstall, uint32(a.how))
	case actDeliver, actLose:
		return x.deliver(s, a)
	case actGuardian:
		return x.guardian(s, a.who, false)
	case actReply:
		if x.l.c.Once {
			x.put(s, atReplies+int(a.who), opWithout, a.arg)
		}
		return x.proposer(s, a.who, inHandle|a.arg)
	}
	return true
}

// guardian has the guardian of a proposer say what it has to say, if it may: the proposer has died, or it has not. All
// rounds are one, since what is sent may arrive at any time, or never.
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
	out := uint32(x.recall(opGuardian, s[atProposers+i], 0))
	if out != 0 {
		x.send(s, out)
	}
	return out != 0
}

func (x *leaseExplorer) tick(s *state) {
	for i := range x.l.c.Proposers {
		x.put(s, atProposers+i, opProposer, inPass)
	}
	for i := range x.l.c.Acceptors {
		x.put(s, atAcceptors+i, opPass, uint32(i))
	}
}

// proposer makes one step of proposer i. What it sends is then on its way to everybody it is for.
func (x *leaseExplorer) proposer(s *state, i uint8, in uint32) bool {
	out, ok := x.step(s, atProposers+int(i), opProposer, in)
	if sent := out &^ freshTenure; sent != 0 {
		x.send(s, sent)
	}
	if ok && x.l.c.Epochs {
		x.follow(s, i, out&freshTenure != 0)
	}
	return ok
}

func (x *leaseExplorer) send(s *state, out uint32) {
	if !x.l.c.Once {
		x.put(s, atSent, opAdd, out<<2|maxAcceptors)
		return
	}
	for j := range x.l.c.Acceptors {
		x.put(s, atSent+j, opAdd, out<<2|uint32(j))
	}
}

// deliver hands a request to an acceptor, and its reply on. Where messages are not resent, a reply to a proposer
// without an attempt in progress is lost. The reply could only raise the counter, which a start may skip anyway, or be
// counted by a won attempt, and only Resend asks for that count.
func (x *leaseExplorer) deliver(s *state, a action) bool {
	l := x.l
	if l.c.Once {
		x.put(s, atSent+int(a.to), opWithout, a.arg)
	}
	reply, _ := x.step(s, atAcceptors+int(a.to), opAcceptor, a.arg<<2|uint32(a.to))
	if reply == 0 {
		return a.kind == actDeliver
	}
	if a.kind == actLose {
		return true
	}
	who := l.messages.get(reply).who
	if l.c.Async {
		x.put(s, atReplies+int(who), opWith, reply)
		return true
	}
	if !l.proposers.get(s[atProposers+who]).busy && !l.resends() {
		return true
	}
	return x.proposer(s, who, inHandle|reply)
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
