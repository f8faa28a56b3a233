package explore

import (
	"fmt"
	"strings"

	"tenure/internal/ballot"
	"tenure/jepsen/compare/flease"
	"tenure/jepsen/compare/majority"
)

// rivalTeller puts what happens in a rivalModel into words.
type rivalTeller struct{ l *rivalModel }

func (t *rivalTeller) process(i int) string {
	if i < t.l.c.Proposers {
		return proposerNames[i : i+1]
	}
	return fmt.Sprint(i - t.l.c.Proposers + 1)
}

func (t *rivalTeller) say(_ *state, a action) string {
	who := ""
	if a.kind != actShift {
		who = proposerNames[a.who : a.who+1]
	}
	switch a.kind {
	case actTick:
		return "tick"
	case actShift:
		return "the clock of " + t.process(int(a.who)) + " shifts"
	case actStart:
		return "start " + who
	case actRestartProposer:
		return "restart " + who
	case actRestartAcceptor:
		return fmt.Sprintf("restart %d", a.to+1)
	case actDeliver:
		return fmt.Sprintf("deliver %s to %d", t.message(a.arg), a.to+1)
	case actLose:
		return fmt.Sprintf("deliver %s to %d, reply lost", t.message(a.arg), a.to+1)
	}
	return "reply " + t.message(a.arg)
}

func (t *rivalTeller) message(id uint32) string {
	m := t.l.messages.get(id)
	switch b := m.body.(type) {
	case flease.Message:
		s := fmt.Sprintf("%v %v%s", b.Kind, b.Ballot.Time, t.node(b.Ballot.Node))
		if !b.Lease.IsZero() {
			s += fmt.Sprintf(" (%s, %v)", t.node(b.Lease.Owner), b.Lease.Until)
		}
		return s
	case majority.Message:
		return fmt.Sprintf("%v %d.%d%s", b.Kind, b.Request.Counter, b.Request.Restart, t.node(b.Request.Node))
	}
	return m.body.String()
}

func (t *rivalTeller) node(n ballot.NodeID) string {
	if n >= firstProposer {
		return proposerNames[n-firstProposer:][:1]
	}
	return fmt.Sprint(n)
}

func (t *rivalTeller) tell(before, after *state, a action) string {
	what := t.say(before, a)
	if a.kind == actDeliver || a.kind == actLose {
		t.l.mu.Lock()
		v := t.l.stepAcceptor(opAnswer, *t.l.acceptors.get(before[atAcceptors+a.to]), a.arg<<2|uint32(a.to))
		t.l.mu.Unlock()
		if reply := uint32(v >> 32); reply != 0 {
			what += ": " + t.message(reply)
		}
	}
	var parts []string
	for i := range t.l.c.Proposers {
		x := t.l.proposers.get(after[atProposers+i])
		parts = append(parts, fmt.Sprintf("%s at %v%s", proposerNames[i:i+1], x.now, x.standing.says))
	}
	for i := range maxAcceptors {
		x := t.l.acceptors.get(after[atAcceptors+i])
		parts = append(parts, fmt.Sprintf("%d%s", i+1, x.a.says(x.now)))
	}
	return fmt.Sprintf("%-76s %s", what, strings.Join(parts, " | "))
}
