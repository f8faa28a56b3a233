package explore

import (
	"bytes"
	"fmt"
	"slices"

	"tenure/internal/ballot"
	"tenure/multipaxos"
)

// Where the parts of the log's world stand in a state.
const (
	atNodes   = 0
	atWire    = 6 // every message that was ever sent
	atHistory = 9 // the longest row of values that any node has called chosen
)

// What a node meets: a kind, and for inStep a message.
const (
	logLead uint32 = iota + 1
	logPropose
	logChange    // propose the next membership
	logSync      // the first Persist on its way becomes durable, and the node hears of it
	logCrash     // what is on its way is lost
	logCrashLate // but for the first Persist
	logMark      // to all
	logStep      // + the message's number
)

// logModel is the model of a LogConfig. Everything in it but c is guarded by memo.mu.
type logModel struct {
	c LogConfig
	common
	nodes     interned[nodePart]
	messages  interned[multipaxos.Message]
	histories interned[[]byte]
	// membershipOf is that of c; nil if members do not change.
	membershipOf func([]byte) (multipaxos.Membership, bool)
}

func newLogModel(c LogConfig) *logModel {
	l := &logModel{c: c}
	if len(c.Members) > 0 {
		l.membershipOf = c.membershipOf
	}
	l.prepare(l.messages.sum, layout{
		perms: permutations(0, nil), rows: []row{{&l.nodes, atNodes, c.Nodes, same}, {&l.sets, atWire, 1, same}},
	})
	for i := range c.Nodes {
		l.first[atNodes+i] = l.boot(nodePart{who: uint8(i),
			disk: &logDisk{entries: map[multipaxos.Slot]multipaxos.Entry{}}})
	}
	l.first[atWire] = l.sets.of(nil)
	l.first[atHistory] = l.histories.number(nil, nil)
	return l
}

func (l *logModel) explorer() explorer {
	return &logExplorer{access[*logModel]{l: l, cache: new(cache)}}
}

const opNode uint32 = 1 // node, input

func (l *logModel) compute(_, node, in uint32) uint64 { return l.stepNode(node, in) }

// stepNode returns the node after an input and, in the upper half, the messages that it sent; 0 if no step is possible.
// A panic of the core is a violation like any other.
func (l *logModel) stepNode(id, in uint32) (v uint64) {
	x := *l.nodes.get(id)
	if x.broken != "" {
		return 0
	}
	defer func() {
		if p := recover(); p != nil {
			x.broken = fmt.Sprint(p)
			v = uint64(l.node(x))
		}
	}()
	if in == logCrash || in == logCrashLate {
		if in == logCrashLate {
			if len(x.pending) == 0 {
				return 0
			}
			x.disk = x.disk.with(x.pending[0])
		}
		x.runs++
		return uint64(l.boot(x))
	}
	if in == logSync && len(x.pending) > 0 {
		x.disk = x.disk.with(x.pending[0])
	}
	x.core = x.core.Clone(x.disk)
	if !l.input(&x, in) {
		return 0
	}
	return stepped(l.settle(x))
}

func (l *logModel) input(x *nodePart, in uint32) bool {
	switch in {
	case logLead:
		x.leads++
		x.core.Lead()
	case logPropose:
		if int(x.core.Last()) >= l.c.Slots || int(x.proposed) >= l.c.Values {
			return false
		}
		_, ok := x.core.Propose(l.value(x))
		x.proposed++
		return ok
	case logChange:
		next := x.core.Membership().Number + 1
		if int(x.core.Last()) >= l.c.Slots || int(next) > len(l.c.Members) {
			return false
		}
		_, ok := x.core.ProposeMembership(membershipEntry(next))
		return ok
	case logSync:
		if len(x.pending) == 0 {
			return false
		}
		seq := x.pending[0].Seq
		x.pending = x.pending[1:]
		x.core.Persisted(seq)
	case logMark:
		for i := range l.c.Nodes {
			x.core.Advertise(ballot.NodeID(i + 1))
		}
	default:
		if slices.Contains(x.recent, in-logStep) {
			return false
		}
		x.recent = append(slices.Clone(x.recent), in-logStep)
		l.must(x, x.core.Step(*l.messages.get(in - logStep)))
	}
	return true
}

func (l *logModel) must(x *nodePart, err error) {
	if err != nil {
		panic(err)
	}
}

// logExplorer is one goroutine's access to a logModel.
type logExplorer struct{ access[*logModel] }

// The kinds of a log's action are its inputs; arg is the whole input.

func (x *logExplorer) expand(s *state, emit func(next *state, a action)) {
	l := x.l
	attempt := trying(s, x.apply, emit)
	crashes := 0
	for i := range l.c.Nodes {
		crashes += int(l.nodes.get(s[atNodes+i]).runs)
	}
	for i := range l.c.Nodes {
		n := l.nodes.get(s[atNodes+i])
		try := func(in uint32) { attempt(action{who: uint8(i), arg: in}) }
		try(logSync)
		if i < l.c.Leaders && int(n.leads) < l.c.Leads {
			try(logLead)
		}
		if n.core.Phase() == multipaxos.Leading {
			try(logPropose)
			if len(l.c.Members) > 0 {
				try(logChange)
			}
			if !l.c.Quiet {
				try(logMark)
			}
		}
		if crashes < l.c.Crashes && (i >= l.c.Leaders || !l.c.FollowersCrash) {
			try(logCrash)
			try(logCrashLate)
		}
	}
	for _, m := range l.sets.list(s[atWire]) {
		attempt(action{who: uint8(l.messages.get(m).To - 1), arg: logStep + m})
	}
}

// apply gives one node one input.
func (x *logExplorer) apply(s *state, a action) bool {
	out, ok := x.step(s, atNodes+int(a.who), opNode, a.arg)
	if out != 0 {
		x.put(s, atWire, opUnion, out)
	}
	x.remember(s, a.who)
	return ok
}

// remember makes the history longer if a node calls more chosen than anybody did, and marks a state in which one calls
// something else chosen.
func (x *logExplorer) remember(s *state, who uint8) {
	l := x.l
	chosen, known := l.nodes.get(s[atNodes+who]).chosen, *l.histories.get(s[atHistory])
	switch {
	case bytes.HasPrefix(known, chosen):
	case bytes.HasPrefix(chosen, known):
		l.mu.Lock()
		s[atHistory] = l.histories.number(append(l.histories.buffer(), chosen...), chosen)
		l.mu.Unlock()
	default:
		s[atFlags] = 1
	}
}

func (x *logExplorer) canonical(s *state) digest {
	l := x.l
	d := l.layout.sum(digest{uint64(s[atFlags]), 2}, s)
	for _, b := range *l.histories.get(s[atHistory]) {
		d = d.with(digest{uint64(b), 3})
	}
	return d.end()
}

// broken returns the violation in s: a slot with two chosen values, or a core that stops itself. It returns "" if s has
// none.
func (x *logExplorer) broken(s *state) string {
	if s[atFlags] != 0 {
		return "two values are chosen in a slot"
	}
	for i := range x.l.c.Nodes {
		if n := x.l.nodes.get(s[atNodes+i]); n.broken != "" {
			return "a core stops: " + n.broken
		}
	}
	return ""
}
