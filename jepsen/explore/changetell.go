package explore

import (
	"fmt"
	"strings"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
)

// changeTeller puts what happens in a changeModel into words.
type changeTeller struct{ l *changeModel }

func (t *changeTeller) say(s *state, a action) string {
	who := proposerNames[a.who : a.who+1]
	switch a.kind {
	case chTick:
		return "tick"
	case chPropose:
		return fmt.Sprintf("the log chooses C%d", unpackChanges(s[atLog]).chosen+1)
	case chAcknowledge:
		if a.arg != 0 {
			return fmt.Sprintf("%v go over, and the master has enough acknowledgements", maskSet(a.arg))
		}
		return "the master has enough acknowledgements"
	case chStart:
		return fmt.Sprintf("start %s %d under %v", who, a.arg, t.l.all[a.how])
	case chRelease:
		return "release " + who
	case chLearn:
		return fmt.Sprintf("%d goes over to C%d", a.to+1, t.l.acceptors.get(s[atVoters+a.to]).a.Membership()+1)
	case chRestart:
		return fmt.Sprintf("restart %d", a.to+1)
	}
	m := t.l.messages.get(a.arg).m
	return fmt.Sprintf("deliver %v %s%d of C%d to %d", m.Kind, proposerNames[t.l.messages.get(a.arg).who:][:1],
		m.Ballot.Counter, m.Membership, a.to+1)
}

// maskSet returns the acceptors of a mask.
func maskSet(mask uint32) (s quorum.Set) {
	for i := range maxNodes {
		if mask>>i&1 != 0 {
			s.Add(ballot.NodeID(i + 1))
		}
	}
	return s
}

var changeRules = [...]string{chTick: "time", chPropose: "log", chAcknowledge: "settled", chStart: "P1", chRelease: "P6",
	chLearn: "stamp", chRestart: "A4", chDeliver: ""}

func (t *changeTeller) tell(before, after *state, a action) string {
	rule, what := changeRules[a.kind], t.say(before, a)
	if a.kind == chDeliver {
		m := t.l.messages.get(a.arg).m
		rule = map[lease.Kind]string{lease.KindPrepare: "A1", lease.KindAccept: "A2", lease.KindRelease: "A3"}[m.Kind]
		t.l.mu.Lock()
		v := t.l.compute(opAcceptor, before[atVoters+a.to], a.arg<<3|uint32(a.to))
		t.l.mu.Unlock()
		if reply := uint32(v >> 32); reply != 0 {
			what += ": " + t.l.messages.get(reply).m.Kind.String()
		}
	}
	return fmt.Sprintf("%-8s %-52s %s", rule, what, t.world(after))
}

func (t *changeTeller) world(s *state) string {
	parts := []string{unpackChanges(s[atLog]).String()}
	for i := range changeProposers {
		x := t.l.proposers.get(s[atTryers+i])
		w := fmt.Sprintf("%s C%d", proposerNames[i:i+1], x.p.Membership())
		if h, held := x.p.Held(x.now); held {
			w += fmt.Sprintf(" OWNS %v", h.Deadline-x.now)
		}
		if a := x.p.Attempt(); a.Phase != lease.PhaseNone {
			w += fmt.Sprintf(" %v %v", a.Phase, max(0, a.Deadline-x.now))
		}
		parts = append(parts, w)
	}
	for i := range t.l.nodes {
		x := t.l.acceptors.get(s[atVoters+i])
		w := fmt.Sprintf("%d C%d", i+1, x.a.Membership())
		if q := x.a.QuarantineLeft(x.now); q > 0 {
			w += fmt.Sprintf(" silent %v", q)
		}
		if r, live := x.a.Live(x.now); live {
			w += fmt.Sprintf(" has %s%d %v", proposerNames[r.Owner.Node-firstProposer:][:1], r.Ballot.Counter,
				r.Left.Truncate(time.Microsecond))
		}
		parts = append(parts, w)
	}
	return strings.Join(parts, " | ")
}
