package explore

import (
	"fmt"
	"strings"
	"time"

	"tenure/lease/named"
)

// namedTeller puts what happens in a namedModel into words: clients are c and d, the nodes that they ask p and q.
type namedTeller struct{ l *namedModel }

func clientName(i uint8) string { return "cd"[i : i+1] }

func (t *namedTeller) mail(id uint32) string {
	m := t.l.mails.get(id)
	owner := func(a named.Acquisition) string { return fmt.Sprintf("%s%d", clientName(a[0]-1), a[1]) }
	switch m.kind {
	case mailGrant:
		return fmt.Sprintf("grant %s%d ask %d token %v", clientName(m.who), m.begun, m.ask, m.token)
	case mailReply:
		r := m.reply
		s := fmt.Sprintf("%v %d%s from %d report %v", r.Kind, r.Counter, proposerNames[m.node:m.node+1], m.acc+1,
			r.Report)
		if r.Live {
			s += fmt.Sprintf(" live %s %v", owner(r.LiveAcquisition), r.LiveToken)
		}
		return s
	}
	q := m.request
	s := fmt.Sprintf("%v %d.%d%s", q.Kind, q.Counter, m.run, proposerNames[m.node:m.node+1])
	if len(t.l.c.Chain) > 0 && q.Membership > 0 {
		s += fmt.Sprintf(" of C%d", q.Membership)
	}
	if q.Kind == named.Release {
		s = "Release"
	}
	if q.Kind != named.Prepare {
		s += " " + owner(q.Acquisition)
	}
	if q.Kind == named.Accept {
		s += fmt.Sprintf(" token %v", q.Token)
	}
	return s
}

func (t *namedTeller) say(s *state, a action) string {
	client, node := clientName(a.who&1), proposerNames[a.to:a.to+1]
	switch a.kind {
	case doTick:
		return "tick"
	case doAsk:
		how := map[uint32]string{inNew: "acquire", inAgain: "acquire again", inRenew: "renew"}[a.arg&^inArg]
		if t.l.c.LongLease > 0 {
			how += fmt.Sprintf(" for %v", t.l.c.ttl(a.arg&inArg))
		}
		return fmt.Sprintf("%s: %s through %s under %d", client, how, node, a.how)
	case doGiveUp:
		return fmt.Sprintf("%s gives up for %s", node, client)
	case doWithdraw:
		return fmt.Sprintf("%s withdraws for %s", node, client)
	case doGiveBack:
		return client + ": release"
	case doNodeCrash:
		return "restart " + proposerNames[a.who:a.who+1]
	case doCrash:
		if a.arg != 0 {
			return fmt.Sprintf("restart %d, the bucket was written", a.to+1)
		}
		return fmt.Sprintf("restart %d", a.to+1)
	case doBucket:
		if a.arg != 0 {
			return fmt.Sprintf("the bucket of %d is durable", a.to+1)
		}
		return fmt.Sprintf("%d asks for a bucket", a.to+1)
	case doAllot:
		return fmt.Sprintf("the log allots era %d to %d", unpackCounts(s[atCounts]).era+1, a.to+1)
	case doApply:
		return fmt.Sprintf("%d applies entry %d", a.to+1, a.arg)
	case doPropose:
		return fmt.Sprintf("the log chooses C%d", unpackChanges(s[atChanges]).chosen+1)
	case doAcknowledge:
		return "the master has enough acknowledgements"
	case doNodeOver:
		return fmt.Sprintf("%s goes over to C%d", proposerNames[a.who:a.who+1], a.arg+1)
	case doOver:
		return fmt.Sprintf("%d goes over to C%d", a.to+1, a.arg)
	case doSweep:
		return fmt.Sprintf("sweep %d", a.to+1)
	case doDeliver:
		return fmt.Sprintf("deliver %s to %d", t.mail(a.arg), a.to+1)
	case doLose:
		return fmt.Sprintf("deliver %s to %d, reply lost", t.mail(a.arg), a.to+1)
	case doReply:
		return "reply " + t.mail(a.arg)
	}
	return t.mail(a.arg)
}

var namedRules = [...]string{
	doTick: "time", doAsk: "P1", doGiveUp: "P5", doWithdraw: "A3", doGiveBack: "P6", doNodeCrash: "T4", doCrash: "A4",
	doAllot: "N3", doApply: "N3",
	doPropose: "log", doAcknowledge: "settled", doNodeOver: "stamp", doOver: "stamp",
	doSweep: "N2", doBucket: "N4", doReply: "P2-P4", doGrant: "N1",
}

func (t *namedTeller) tell(before, after *state, a action) string {
	rule := namedRules[a.kind]
	if a.kind == doDeliver || a.kind == doLose {
		rule = map[named.Kind]string{named.Prepare: "A1", named.Accept: "A2"}[t.l.mails.get(a.arg).request.Kind]
		if rule == "" {
			rule = "A3"
		}
	}
	return fmt.Sprintf("%-6s %-52s %s", rule, t.say(before, a), t.world(after))
}

func (t *namedTeller) world(s *state) string {
	l := t.l
	var parts []string
	if len(l.c.Chain) > 0 {
		parts = append(parts, unpackChanges(s[atChanges]).String())
	}
	for i := range l.c.Clients {
		x := l.clients.get(s[atClients+i])
		w := fmt.Sprintf("%s%d", clientName(uint8(i)), x.begun)
		if x.held {
			w += fmt.Sprintf(" HOLDS %v %v", named.Token(x.hold.Token()), x.hold.Deadline()-x.now)
		}
		parts = append(parts, w)
	}
	for i := range l.c.Nodes {
		x := l.nodes.get(s[atAsked+i])
		w := proposerNames[i : i+1]
		if len(l.c.Chain) > 0 {
			w += fmt.Sprintf(" C%d", x.over+1)
		}
		for c := range x.attempts {
			if f := &x.attempts[c]; f.on {
				w += fmt.Sprintf(" for %s%d: %s", clientName(uint8(c)), f.begun, phaseNames[f.attempt.Phase()])
			}
		}
		parts = append(parts, w)
	}
	for i := range l.c.Acceptors {
		parts = append(parts, t.table(i, l.tables.get(s[atTables+i])))
	}
	return strings.Join(parts, " | ")
}

var phaseNames = [...]string{named.Preparing: "preparing", named.Accepting: "accepting", named.Over: "over"}

func (t *namedTeller) table(i int, x *namedTable) string {
	w := fmt.Sprint(i + 1)
	if q := x.table.QuarantineLeft(x.now); q > 0 {
		w += fmt.Sprintf(" silent %v", q)
	}
	if !x.table.Opened() {
		w += " no era"
	}
	if len(t.l.c.Chain) > 0 {
		w += fmt.Sprintf(" C%d", x.table.Membership())
	}
	w += fmt.Sprintf(" floor %v", x.table.Floor())
	if t.l.c.LongLease > 0 {
		w += fmt.Sprintf(" bucket %v, durable %v", x.table.Bucket(), x.disk.Length)
	}
	for n := range uint8(t.l.c.Names) {
		if h, live := x.table.Live(x.now, leaseName(n)); live {
			w += fmt.Sprintf(" has %s%d %v %v", clientName(h.Acquisition[0]-1), h.Acquisition[1], h.Token,
				h.Left.Truncate(time.Microsecond))
		}
	}
	return w
}
