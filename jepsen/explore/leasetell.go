package explore

import (
	"fmt"
	"strings"
	"time"

	"tenure/internal/ballot"
	"tenure/lease"
)

// teller puts what happens in a leaseModel into words.
type teller struct{ l *leaseModel }

func (t *teller) ballot(b ballot.Ballot) string {
	if b.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%d.%d%s", b.Counter, b.Restart, t.name(b.Node))
}

func (t *teller) name(n ballot.NodeID) string {
	if n >= firstProposer && n < firstProposer+maxProposers {
		return proposerNames[n-firstProposer:][:1]
	}
	return fmt.Sprint(n)
}

func (t *teller) request(id uint32) string {
	m := t.l.messages.get(id).m
	s := fmt.Sprintf("%v %s", m.Kind, t.ballot(m.Ballot))
	if m.Kind == lease.KindAccept && len(t.l.c.Durations) > 1 {
		s += fmt.Sprintf(" for %v", m.Duration)
	}
	return s
}

func (t *teller) say(_ *state, a action) string {
	who := proposerNames[a.who : a.who+1]
	switch a.kind {
	case actTick:
		return "tick"
	case actStart:
		return fmt.Sprintf("start %s %d for %v", who, a.arg, t.l.c.Durations[a.how])
	case actAbandon:
		return "abandon " + who
	case actRelease:
		return "release " + who
	case actResend:
		return "resend " + who
	case actRestartProposer:
		return "restart " + who
	case actGuardian:
		return "guardian " + who
	case actRestartAcceptor:
		if len(t.l.c.longest()) > 1 {
			return fmt.Sprintf("restart %d with M %v", a.to+1, t.l.c.longest()[a.how])
		}
		return fmt.Sprintf("restart %d", a.to+1)
	case actDeliver:
		return fmt.Sprintf("deliver %s to %d", t.request(a.arg), a.to+1)
	case actLose:
		return fmt.Sprintf("deliver %s to %d, reply lost", t.request(a.arg), a.to+1)
	}
	m := t.l.messages.get(a.arg).m
	return fmt.Sprintf("reply %s%s from %d to %s", t.request(a.arg), t.detail(m), m.From, who)
}

func (t *teller) detail(m lease.Message) string {
	s := ""
	if m.Live {
		s += fmt.Sprintf(" live %s", t.ballot(m.LiveBallot))
	}
	if !m.Promised.IsZero() {
		s += fmt.Sprintf(" promised %s", t.ballot(m.Promised))
	}
	return s
}

func (t *teller) tell(before, after *state, a action) string {
	rule, what := "", t.say(before, a)
	switch a.kind {
	case actTick:
		rule = "time"
	case actStart:
		rule = "P1"
	case actAbandon, actResend:
		rule = "P5"
	case actRelease:
		rule = "P6"
	case actRestartProposer:
		rule = "T4"
	case actGuardian:
		rule = "P7"
	case actRestartAcceptor:
		rule = "A4"
	case actDeliver, actLose:
		rule, what = t.tellRequest(before, after, a)
	case actReply:
		rule, what = t.tellReply(before, after, a.who, t.l.messages.get(a.arg).m, what)
	}
	return fmt.Sprintf("%-8s %-64s %s", rule, what, t.world(after))
}

// tellRequest says what an acceptor made of a request, and what its reply did.
func (t *teller) tellRequest(before, _ *state, a action) (rule, what string) {
	l, what := t.l, t.say(nil, a)
	rule = map[lease.Kind]string{lease.KindPrepare: "A1", lease.KindAccept: "A2",
		lease.KindRelease: "A3"}[l.messages.get(a.arg).m.Kind]
	l.mu.Lock()
	v := l.stepAcceptor(before[atAcceptors+a.to], a.arg, ballot.NodeID(a.to)+1)
	l.mu.Unlock()
	reply := uint32(v >> 32)
	if reply == 0 {
		return rule, what
	}
	m := l.messages.get(reply).m
	what += fmt.Sprintf(": %v%s", m.Kind, t.detail(m))
	if a.kind == actLose || l.c.Async {
		return rule, what
	}
	var more string
	who := l.messages.get(reply).who
	if !l.proposers.get(before[atProposers+who]).busy && !l.resends() {
		return rule, what
	}
	more, what = t.tellReply(before, nil, who, m, what)
	if more != "" {
		rule += " " + more
	}
	return rule, what
}

// tellReply says which rule a reply sets off at its proposer.
func (t *teller) tellReply(before, _ *state, who uint8, m lease.Message, what string) (string, string) {
	x := t.l.proposers.get(before[atProposers+who])
	p := x.p.Clone()
	sent := p.Handle(x.now, m)
	_, held := p.Held(x.now)
	h, _ := p.Held(x.now)
	old, _ := x.p.Held(x.now)
	switch {
	case len(sent) > 0:
		return "P2 P3", what + "; Accept leaves"
	case held && h.Ballot != old.Ballot:
		return "P4", what + fmt.Sprintf("; %s owns, tenure %d", proposerNames[who:who+1], h.Number)
	case m.Kind == lease.KindPromise:
		return "P2", what
	case m.Kind == lease.KindAccepted:
		return "P4", what
	}
	return "P5", what
}

// world returns one phrase for each node: what it holds and how long, each by its own clock.
func (t *teller) world(s *state) string {
	var parts []string
	for i := range t.l.c.Proposers {
		x := t.l.proposers.get(s[atProposers+i])
		w := proposerNames[i : i+1]
		if x.runs > 0 {
			w += fmt.Sprintf(".%d", x.runs)
		}
		if h, held := x.p.Held(x.now); held {
			w += fmt.Sprintf(" OWNS %s %v", t.ballot(h.Ballot), h.Deadline-x.now)
		}
		if a := x.p.Attempt(); a.Phase != lease.PhaseNone {
			w += fmt.Sprintf(" %v %s %v", a.Phase, t.ballot(a.Ballot), max(0, a.Deadline-x.now))
		}
		parts = append(parts, w)
	}
	for i := range t.l.c.Acceptors {
		parts = append(parts, t.acceptor(i, t.l.acceptors.get(s[atAcceptors+i])))
	}
	return strings.Join(parts, " | ")
}

func (t *teller) acceptor(i int, x *acceptorPart) string {
	w := fmt.Sprint(i + 1)
	if q := x.a.QuarantineLeft(x.now); q > 0 {
		w += fmt.Sprintf(" silent %v", q)
	}
	if r, live := x.a.Live(x.now); live {
		w += fmt.Sprintf(" has %s %v", t.ballot(r.Ballot), r.Left.Truncate(time.Microsecond))
	}
	return w
}
