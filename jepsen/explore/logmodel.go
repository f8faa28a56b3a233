package explore

import (
	"bytes"
	"fmt"
	"slices"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
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
	logSync      // the first Persist on its way becomes durable, and the node hears of it
	logCrash     // what is on its way is lost
	logCrashLate // but for the first Persist
	logHeartbeat // to all
	logStep      // + the message's number
)

const opMerge = 250 // of two sets

// logModel is the model of a LogConfig. Everything in it but c and voters is guarded by memo.mu.
type logModel struct {
	c      LogConfig
	voters quorum.Set
	memo
	nodes     interned[nodePart]
	messages  interned[logMessage]
	sets      interned[setPart]
	histories interned[[]byte]
	scratch   []byte
	first     state
}

func newLogModel(c LogConfig) *logModel {
	l := &logModel{c: c}
	l.done = map[uint64]uint64{}
	for i := range c.Nodes {
		l.voters.Add(ballot.NodeID(i + 1))
	}
	for i := range c.Nodes {
		l.first[atNodes+i] = l.boot(nodePart{who: uint8(i), disk: &logDisk{entries: map[multipaxos.Slot]multipaxos.Entry{}}})
	}
	l.first[atWire] = l.set(nil)
	l.first[atHistory] = l.history(nil)
	return l
}

func (l *logModel) start() state { return l.first }

func (l *logModel) explorer() explorer { return &logExplorer{l: l, cache: new(cache)} }

func (l *logModel) history(b []byte) uint32 {
	if id := l.histories.find(b); id != 0 {
		return id
	}
	return l.histories.add(b, b)
}

// compute runs the real code once for a part and an input; see memo.
func (l *logModel) compute(k uint64) uint64 {
	op, a, b := operands(k)
	if op == opMerge {
		return uint64(l.set(append(slices.Clone(l.sets.get(a).ids), l.sets.get(b).ids...)))
	}
	return l.stepNode(a, b)
}

// stepNode gives the node after an input and, in the upper half, what it sent; 0 if there is nothing to do. A panic of
// the core is a violation like any other.
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
	x.core = x.core.Clone()
	if !l.input(&x, in) {
		return 0
	}
	to, out := l.settle(x)
	return uint64(out)<<32 | uint64(to)
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
	case logSync:
		if len(x.pending) == 0 {
			return false
		}
		x.disk = x.disk.with(x.pending[0])
		x.core.Rebind(x.disk)
		seq := x.pending[0].Seq
		x.pending = x.pending[1:]
		l.must(x, x.core.Persisted(seq))
	case logHeartbeat:
		for i := range l.c.Nodes {
			x.core.Advertise(ballot.NodeID(i + 1))
		}
	default:
		if slices.Contains(x.recent, in-logStep) {
			return false
		}
		x.recent = append(slices.Clone(x.recent), in-logStep)
		l.must(x, x.core.Step(l.messages.get(in-logStep).m))
	}
	return true
}

func (l *logModel) must(x *nodePart, err error) {
	if err != nil {
		panic(err)
	}
}

// logExplorer is one goroutine's access to a logModel.
type logExplorer struct {
	l     *logModel
	cache *cache
}

func (x *logExplorer) recall(k uint64) uint64 { return x.cache.recall(&x.l.memo, k, x.l.compute) }

// The kinds of a log's action are its inputs; arg is the whole input.

func (x *logExplorer) expand(s *state, emit func(next *state, a action)) {
	l := x.l
	crashes := 0
	for i := range l.c.Nodes {
		crashes += int(l.nodes.get(s[atNodes+i]).runs)
	}
	for i := range l.c.Nodes {
		n := l.nodes.get(s[atNodes+i])
		try := func(in uint32) { x.try(s, uint8(i), in, emit) }
		try(logSync)
		if i < l.c.Leaders && int(n.leads) < l.c.Leads {
			try(logLead)
		}
		if n.core.Phase() == multipaxos.Leading {
			try(logPropose)
			if !l.c.Quiet {
				try(logHeartbeat)
			}
		}
		if crashes < l.c.Crashes && (i >= l.c.Leaders || !l.c.FollowersCrash) {
			try(logCrash)
			try(logCrashLate)
		}
	}
	for _, m := range l.sets.get(s[atWire]).ids {
		x.try(s, uint8(l.messages.get(m).m.To-1), logStep+m, emit)
	}
}

// try gives one node one input and emits what comes of it, unless that is nothing.
func (x *logExplorer) try(s *state, who uint8, in uint32, emit func(next *state, a action)) {
	v := x.recall(key(1, s[atNodes+who], in))
	if v == 0 {
		return
	}
	n := *s
	n[atNodes+who] = uint32(v)
	if out := uint32(v >> 32); out != 0 {
		n[atWire] = uint32(x.recall(key(opMerge, n[atWire], out)))
	}
	if n == *s {
		return
	}
	x.remember(&n, who)
	emit(&n, action{who: who, arg: in})
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
		s[atHistory] = l.history(chosen)
		l.mu.Unlock()
	default:
		s[atFlags] = 1
	}
}

func (x *logExplorer) canonical(s *state) digest {
	l := x.l
	d := digest{uint64(s[atFlags]), 2}
	for i := range l.c.Nodes {
		d = d.with(l.nodes.get(s[atNodes+i]).sum)
	}
	d = d.with(l.sets.get(s[atWire]).sum)
	for _, b := range *l.histories.get(s[atHistory]) {
		d = d.with(digest{uint64(b), 3})
	}
	return d.end()
}

// broken is what must never be: a slot with two chosen values, or a core that stops itself.
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
