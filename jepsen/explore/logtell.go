package explore

import (
	"fmt"
	"strings"

	"tenure/internal/ballot"
	"tenure/multipaxos"
)

// logTeller puts what happens in a logModel into words.
type logTeller struct{ l *logModel }

var logKinds = [...]string{"", "Prepare", "Promise", "Accept", "Accepted", "Reject", "Mark", "MarkReply",
	"Fetch", "Learn", "Confirm", "Confirmed", "Gone"}

func (t *logTeller) say(_ *state, a action) string {
	switch a.arg {
	case logLead:
		return fmt.Sprintf("lead %d", a.who+1)
	case logPropose:
		return fmt.Sprintf("propose %d", a.who+1)
	case logChange:
		return fmt.Sprintf("propose a membership %d", a.who+1)
	case logSync:
		return fmt.Sprintf("sync %d", a.who+1)
	case logCrash:
		return fmt.Sprintf("crash %d", a.who+1)
	case logCrashLate:
		return fmt.Sprintf("crash %d after a write", a.who+1)
	case logMark:
		return fmt.Sprintf("mark %d", a.who+1)
	}
	m := t.l.messages.get(a.arg - logStep)
	s := fmt.Sprintf("deliver %s %s from %d to %d", logKinds[m.Kind], shortBallot(m.Ballot), m.From, m.To)
	for _, e := range m.Entries {
		s += fmt.Sprintf(" [%d]=%s@%s", e.Slot, e.Value, shortBallot(e.Ballot))
	}
	if m.Chosen > 0 {
		s += fmt.Sprintf(" chosen %d", m.Chosen)
	}
	return s
}

func shortBallot(b ballot.Ballot) string {
	if b.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%d.%d.%d", b.Counter, b.Restart, b.Node)
}

func (t *logTeller) tell(before, after *state, a action) string {
	rule := map[uint32]string{logLead: "M2", logPropose: "M5", logChange: "members", logSync: "disk", logCrash: "crash",
		logCrashLate: "crash", logMark: "M5"}[a.arg]
	if rule == "" {
		rule = map[multipaxos.Kind]string{
			multipaxos.KindPrepare: "promise", multipaxos.KindPromise: "M2 M3", multipaxos.KindAccept: "accept",
			multipaxos.KindAccepted: "M5",
		}[t.l.messages.get(a.arg-logStep).Kind]
	}
	var parts []string
	for i := range t.l.c.Nodes {
		n := t.l.nodes.get(after[atNodes+i])
		w := fmt.Sprintf("%d", i+1)
		if n.broken == "" {
			w += fmt.Sprintf(" %v promised %s", n.core.Phase(), shortBallot(n.core.Promised()))
		}
		for s := multipaxos.Slot(1); s <= n.disk.last; s++ {
			if e, ok := n.disk.entries[s]; ok {
				w += fmt.Sprintf(" [%d]=%s@%s", s, e.Value, shortBallot(e.Ballot))
			}
		}
		if len(n.pending) > 0 {
			w += fmt.Sprintf(" %d unsynced", len(n.pending))
		}
		if len(n.chosen) > 0 {
			w += fmt.Sprintf(" chosen %s", n.chosen)
		}
		parts = append(parts, w)
	}
	return fmt.Sprintf("%-8s %-70s %s", rule, t.say(before, a), strings.Join(parts, " | "))
}
