package explore

import (
	"encoding/binary"
	"fmt"
	"time"

	"tenure/lease"
)

// proposerPart is a proposer in one local state. The struct is the real one, with the reading of its clock at which it
// reached the state. All its times are relative to its clock, so it stands for every proposer in that state.
type proposerPart struct {
	p     *lease.Proposer
	now   time.Duration
	who   uint8
	runs  uint8 // restarts
	draws uint8 // ballots drawn in all runs; 0 if nobody counts
	held  bool
	ever  bool        // has held in this run
	last  uint64      // number of the newest tenure
	busy  bool        // an attempt is in progress
	late  bool        // and its deadline has passed
	notes lease.Notes // its guardian's; empty if there is none
	lived
}

// acceptorPart is an acceptor in one local state, with its start record. All acceptors are node 1 to themselves; who
// they are to others is their place in the state.
type acceptorPart struct {
	a      *lease.Acceptor
	now    time.Duration
	start  time.Duration
	plan   lease.Quarantine
	m      uint8 // index of its M
	record time.Duration
}

// messagePart is a message. A request has no addressee: it goes to all acceptors.
type messagePart struct {
	m     lease.Message
	who   uint8 // the proposer it comes from or goes to
	reply bool
}

// output is what a proposer sent in one step: each request with the acceptors it goes to, as bits.
type output struct{ sent []sending }

type sending struct {
	id uint32
	to uint8
}

// boot returns the number of proposer who at the start of a run.
func (l *leaseModel) boot(who, runs, draws uint8) uint32 {
	p, err := lease.NewProposer(lease.ProposerConfig{
		Self: incarnation(who, runs), Duration: l.c.M, Voters: voters(l.c.Acceptors), Timing: l.c.timing(l.c.M),
	})
	if err != nil {
		panic(fmt.Sprintf("explore: a checked configuration does not boot: %v", err))
	}
	return l.proposer(proposerPart{p: p, who: who, runs: runs, draws: draws})
}

// proposer returns the number of a proposer. Its key adds to AppendState what a core with a broken rule might still
// look at (the base), and what the checks do.
func (l *leaseModel) proposer(x proposerPart) uint32 {
	h, held := x.p.Held(x.now)
	if x.held = held; held {
		x.last, x.ever = h.Number, true
	}
	a := x.p.Attempt()
	x.busy = a.Phase != lease.PhaseNone
	x.late = x.busy && x.now >= a.Deadline
	key := append(l.proposers.buffer(), 'p', x.who, x.runs, 0, x.draws)
	if l.c.Epochs && x.ever {
		key[3] = 1
	}
	key = x.p.AppendState(key, x.now)
	key = binary.AppendUvarint(key, a.Base.Counter)
	if l.c.Guardian {
		key = x.notes.AppendState(key, x.now)
	}
	return l.proposers.number(key, x)
}

// install returns the number of an acceptor that starts with this record, under the m-th M.
func (l *leaseModel) install(record time.Duration, m uint8, bootstrap bool) uint32 {
	timing := l.c.timing(l.c.longest()[m])
	plan, err := lease.PlanQuarantine(record, timing, bootstrap)
	if err != nil {
		panic(fmt.Sprintf("explore: a start record that was written cannot be read: %v", err))
	}
	a, err := lease.NewAcceptor(lease.AcceptorConfig{Self: 1, Timing: timing, SilentUntil: plan.Deadline(0)})
	if err != nil {
		panic(fmt.Sprintf("explore: a checked configuration does not start: %v", err))
	}
	return l.acceptor(acceptorPart{a: a, plan: plan, m: m})
}

// acceptor returns the number of an acceptor. Its record on disk is lowered as soon as A4 allows it, which is the worst
// case.
func (l *leaseModel) acceptor(x acceptorPart) uint32 {
	x.record = x.plan.Record(x.now - x.start)
	key := append(l.acceptors.buffer(), 'a', x.m)
	key = binary.AppendVarint(key, int64(x.record))
	key = binary.AppendUvarint(key,
		uint64(x.a.QuarantineLeft(x.now))) // again in AppendState: the order of a bounded search rests on the key
	return l.acceptors.number(x.a.AppendState(key, x.now), x)
}

// message returns the number of a message. How much of a lease is left is a hint that only paces retries (L1): replies
// that differ in nothing else are the same.
func (l *leaseModel) message(m lease.Message) uint32 {
	m.LiveLeft = 0
	x := messagePart{m: m, reply: m.To != 0}
	node := m.From
	if x.reply {
		node = m.To
	}
	x.who = uint8(node - firstProposer)
	return l.messages.number(fmt.Appendf(l.messages.buffer(), "m%d>%d %v", m.From, m.To, m), x)
}

// before orders messages by their contents, so that results do not depend on which was met first.
func (l *leaseModel) before(a, b uint32) int {
	x, y := l.messages.get(a), l.messages.get(b)
	if c := x.m.Ballot.Compare(y.m.Ballot); c != 0 {
		return c
	}
	if x.m.Kind != y.m.Kind {
		return int(x.m.Kind) - int(y.m.Kind)
	}
	return l.messages.sum(a).compare(l.messages.sum(b))
}

func (l *leaseModel) output(o output) uint32 {
	if len(o.sent) == 0 {
		return 0
	}
	key := append(l.outputs.buffer(), 'o')
	for _, s := range o.sent {
		key = append(binary.LittleEndian.AppendUint32(key, s.id), s.to)
	}
	return l.outputs.number(key, o)
}
