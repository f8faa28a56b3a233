package explore

import (
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/lease"
)

// The operations of the memo: what one part does with one input.
const (
	opProposer uint32 = iota + 1 // proposer, input
	opRestart                    // proposer
	opAcceptor                   // acceptor, request and place
	opInstall                    // acceptor, M
	opPass                       // acceptor, place
	opAdd                        // set, output and place
	opGuardian                   // proposer
)

// What a proposer meets: a kind in the upper bits, its argument in the lower.
const (
	inStart   uint32 = iota << 24 // counter·maxDurations + index of the duration
	inHandle                      // message
	inPass                        // of a tick
	inAbandon                     // nothing
	inRelease                     // nothing
	inResend                      // nothing

	inKind uint32 = 0xff << 24
)

// freshTenure, in what a proposer's step sent, says that a new tenure began.
const freshTenure = 1 << 31

// compute runs the real code once for a part and an input; see memo.
func (l *leaseModel) compute(op, a, b uint32) uint64 {
	switch op {
	case opProposer:
		return l.stepProposer(a, b)
	case opRestart:
		x := l.proposers.get(a)
		return uint64(l.boot(x.who, x.runs+1, x.draws))
	case opAcceptor:
		return l.stepAcceptor(a, b>>2, ballot.NodeID(b&3)+1)
	case opInstall:
		return uint64(l.install(l.acceptors.get(a).record, uint8(b), false))
	case opPass:
		x := *l.acceptors.get(a)
		x.now += rate(l.c.AcceptorRates, int(b))
		return uint64(l.acceptor(x))
	case opAdd:
		return uint64(l.addOutput(a, b>>2, b&3))
	case opGuardian:
		return uint64(l.crashReleases(a))
	}
	panic("explore: unknown operation")
}

func (l *leaseModel) stepProposer(id, in uint32) uint64 {
	old := l.proposers.get(id)
	x := *old
	x.p = old.p.Clone()
	arg := in &^ inKind
	x.lived = lived{from: id, by: in & inKind, arg: arg}
	var sent []lease.Message
	switch x.by {
	case inStart:
		var ok bool
		if sent, ok = l.begin(&x, uint64(arg/maxDurations), l.c.Durations[arg%maxDurations]); !ok {
			return 0
		}
	case inHandle:
		sent = x.p.Handle(x.now, l.messages.get(arg).m)
	case inPass:
		x.now += rate(l.c.ProposerRates, int(x.who))
		if a := x.p.Attempt(); l.c.Prompt && a.Phase != lease.PhaseNone && x.now >= a.Deadline {
			x.p.Resend(x.now)
		}
	case inAbandon:
		x.p.Abandon()
	case inRelease:
		sent = x.p.Release(x.now)
	case inResend:
		sent = x.p.Resend(x.now)
	}
	if l.c.Guardian {
		x.notes.Sent(x.now, l.c.timing(l.c.M), sent)
	}
	out := l.output(l.gather(sent))
	if h, held := x.p.Held(x.now); held && h.Number != old.last {
		out |= freshTenure
	}
	return stepped(l.proposer(x), out)
}

// crashReleases returns what the guardian of a proposer has to say about it as it is now.
func (l *leaseModel) crashReleases(id uint32) uint32 {
	x := l.proposers.get(id)
	counters := x.notes.AppendCounters(nil, x.now)
	var sent []lease.Message
	for i := range l.c.Acceptors {
		sent = append(sent, lease.CrashReleases(incarnation(x.who, x.runs), ballot.NodeID(i+1), counters)...)
	}
	return l.output(l.gather(sent))
}

// begin starts an attempt under this very counter: a proposer that would draw a lower one has seen a rejection before.
func (l *leaseModel) begin(x *proposerPart, counter uint64, d time.Duration) ([]lease.Message, bool) {
	x.p.ContinueAbove(ballot.Ballot{Counter: counter - 1})
	if l.c.Draws > 0 {
		if int(x.draws) == l.c.Draws {
			return nil, false
		}
		x.draws++
	}
	sent := x.p.StartFor(x.now, d)
	return sent, x.p.Attempt().Ballot.Counter == counter
}

// gather makes one request of messages that differ in nothing but their addressee.
func (l *leaseModel) gather(sent []lease.Message) output {
	var o output
	for _, m := range sent {
		to := uint8(1) << (m.To - 1)
		m.To = 0
		id := l.message(m)
		if i := slices.IndexFunc(o.sent, func(s sending) bool { return s.id == id }); i >= 0 {
			o.sent[i].to |= to
			continue
		}
		o.sent = append(o.sent, sending{id, to})
	}
	return o
}

// stepAcceptor returns the acceptor after a request and, in the upper half, its reply.
func (l *leaseModel) stepAcceptor(id, request uint32, self ballot.NodeID) uint64 {
	old := l.acceptors.get(id)
	x := *old
	x.a = old.a.Clone()
	m := l.messages.get(request).m
	m.To = 1
	answer := uint32(0)
	if reply, ok := x.a.Handle(x.now, m); ok {
		reply.From = self
		answer = l.message(reply)
	}
	return stepped(l.acceptor(x), answer)
}

// addOutput returns a set with what a step sent to the acceptor at place; with all that it sent if place is
// maxAcceptors.
func (l *leaseModel) addOutput(set, out, place uint32) uint32 {
	for _, s := range l.outputs.get(out).sent {
		if place == maxAcceptors || s.to>>place&1 == 1 {
			set = l.sets.with(set, s.id)
		}
	}
	return set
}
