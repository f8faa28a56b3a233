package replica

import (
	"math"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/multipaxos"
	"tenure/server/members"
)

// changes drives the changes of the members. On every node it holds the applied record. On the ready master it begins
// requested operations and takes the next step of the running one, by the rules of package members. Each step is one
// entry, computed from the applied record while nothing is in flight.
type changes struct {
	record   members.Record
	waiting  []MembersRequest
	proposed *memberProposal  // in flight
	answers  []memberProposal // decided, to be told by finish
	// holds keeps the other proposals back: a record waits until nothing is in flight.
	holds bool
	// due asks for a search for the next step: time has passed, or the record has changed.
	due  bool
	at   time.Duration // when the newest record was applied
	slot uint64        // of the newest record that did not only ask for a comparison, or a later one; 0: none
	// By the newest record every member begins no checkpoint (readies), or makes one that is compared (compare).
	readies, compare bool
	step             members.Step // the newest that was looked for
	since            time.Duration
	// On the ready master: the applied slot of a moment ago, to decide which members are caught up.
	marks  [2]uint64
	marked uint64 // tick
}

// memberProposal is a record in a slot, and the request that it answers, with id 0 if none.
type memberProposal struct {
	slot    multipaxos.Slot
	ballot  ballot.Ballot
	tenure  uint64
	request uint64
	until   time.Duration
	lost    bool // the slot was decided otherwise
	answer  *MembersAnswer
}

const (
	maxMemberRequests = 16 // that wait
	markTicks         = 50 // between two marks of what is applied
)

// ask takes a request, or refuses it.
func (c *changes) ask(now time.Duration, r MembersRequest, out *outbox) {
	if len(c.waiting) >= maxMemberRequests {
		out.reply(Reply{ID: r.ID, Outcome: Refused, Reason: Overloaded, Members: &MembersAnswer{}})
		return
	}
	r.Until = waitsUntil(now, r.Until, r.Wait)
	c.waiting = append(c.waiting, r)
}

// begin is told that this node is the ready master from now on.
func (c *changes) begin(now time.Duration, applied, tick uint64) {
	c.since, c.due, c.marks, c.marked = now, true, [2]uint64{math.MaxUint64, applied}, tick
}

// tick passes time. Without a running operation, an unsettled membership or spares there is no next step to look for.
func (c *changes) tick(tick, applied uint64) {
	if tick-c.marked >= markTicks {
		c.marks, c.marked = [2]uint64{c.marks[1], applied}, tick
	}
	_, runs := c.record.Running()
	c.due = c.due || runs || !c.record.IsSettled() || len(c.record.Spares) > 0
}

// applied takes over a record that was chosen.
func (c *changes) applied(e multipaxos.Entry, r members.Record) {
	run, _ := r.Running()
	was, _ := c.record.Operation(run.ID)
	asks := run.Checks > was.Checks
	c.readies, c.compare = run.Readies(), asks && !run.Readies()
	c.record, c.due = r, true
	if !asks { // what is asked again still counts: a checkpoint may take longer than until then
		c.slot = uint64(e.Slot)
	}
	p := c.proposed
	if p == nil || p.slot != e.Slot {
		return
	}
	p.lost = p.ballot != e.Ballot
	c.proposed = nil
	if p.request != 0 {
		p.answer = &MembersAnswer{Record: r}
		c.answers = append(c.answers, *p)
	}
}

// holdsCheckpoints reports whether to begin no checkpoint now, so that the compared one can be made.
func (c *changes) holdsCheckpoints(now time.Duration) bool { return c.readies && now-c.at < readiesFor }

// readiesFor is more than passes between the two records of a comparison.
const readiesFor = 4 * time.Second

// end is told that this node is not the ready master any more. Waiting requests are refused: clients may ask the next
// master.
func (c *changes) end(master ballot.NodeID, out *outbox) {
	c.refuse(master, NoMaster, out)
	if p := c.proposed; p != nil && p.request != 0 {
		out.reply(Reply{ID: p.request, Outcome: Unknown, Reason: LeaseLost, Members: &MembersAnswer{}})
	}
	c.proposed, c.holds, c.step = nil, false, members.Step{}
}

// refuse refuses what waits.
func (c *changes) refuse(master ballot.NodeID, why Reason, out *outbox) {
	for _, r := range c.waiting {
		out.reply(Reply{ID: r.ID, Outcome: Refused, Reason: why, Members: &MembersAnswer{Master: master}})
	}
	c.waiting = nil
}

// expire refuses requests that have waited too long, and answers a proposed one that was not chosen in time as unknown.
func (c *changes) expire(now time.Duration, out *outbox) {
	c.waiting = slices.DeleteFunc(c.waiting, func(r MembersRequest) bool {
		if now < r.Until {
			return false
		}
		out.reply(Reply{ID: r.ID, Outcome: Refused, Reason: TimedOut, Members: &MembersAnswer{}})
		return true
	})
	if p := c.proposed; p != nil && p.request != 0 && now >= p.until {
		out.reply(Reply{ID: p.request, Outcome: Unknown, Reason: TimedOut, Members: &MembersAnswer{}})
		p.request = 0
	}
}

// next returns the record to propose, and the request that it answers. Requests that need none get their answer.
func (c *changes) next(f *members.Facts, tenure uint64) (next members.Record, r MembersRequest, ok bool) {
	for len(c.waiting) > 0 {
		r = c.waiting[0]
		next, changed, answer := c.consider(&r, f)
		if changed {
			return next, r, true
		}
		c.waiting = c.waiting[1:]
		c.answers = append(c.answers, memberProposal{tenure: tenure, request: r.ID, answer: answer})
	}
	if !c.due {
		return members.Record{}, MembersRequest{}, false
	}
	c.step = members.Next(c.record, *f)
	c.due = c.step.Change
	return c.step.Record, MembersRequest{}, c.step.Change
}

// consider looks at a request: it leads to another record, or has an answer.
func (c *changes) consider(r *MembersRequest, f *members.Facts) (next members.Record, changed bool,
	answer *MembersAnswer) {
	answer = &MembersAnswer{Record: c.record}
	record := c.record.Fill(r.Known)
	var err error
	switch {
	case r.DryRun:
		answer.Plan, err = record.Explain(r.Op, *f)
	case r.Cancel != "":
		next, changed, err = record.Cancel(r.Cancel, *f)
	default:
		next, changed, err = record.Begin(r.Op, *f)
		if err == nil && r.Op.Kind == members.Update {
			// An update writes down no address of other members: they may move too, and are followed while no address
			// is listed.
			next, changed, err = c.record.Begin(r.Op, *f)
		}
	}
	if err != nil {
		answer.Refusal = err.(*members.Refusal)
	}
	return next, changed, answer
}

// acknowledge answers the decided requests, like writes: only if the lease is still held in the same tenure.
func (c *changes) acknowledge(now time.Duration, p Published, tenure uint64, out *outbox) {
	for _, a := range c.answers {
		r := Reply{ID: a.request, Outcome: Unknown, Reason: LeaseLost, Members: &MembersAnswer{}}
		if !a.lost && a.tenure == tenure && p.HeldAs(tenure, now) {
			r.Outcome, r.Reason, r.Members = Done, NoReason, a.answer
			if a.answer.Refusal != nil {
				r.Outcome = Refused
			}
		}
		out.reply(r)
	}
	c.answers = nil
}

// driveMembers has the master take the next step of a change of the members. While a record waits for the entries in
// flight, no other entry is proposed.
func (l *Log) driveMembers(now time.Duration) {
	c := &l.changes
	c.holds = false
	if c.proposed != nil || len(c.waiting) == 0 && !c.due || l.levels.raising(l.state.Level()) {
		return
	}
	f := l.facts(now)
	next, r, ok := c.next(&f, l.epoch.tenure)
	if !ok {
		return
	}
	slot, ok := l.core.ProposeMembership(membersValue(&next))
	if !ok {
		c.holds = true
		return
	}
	if r.ID != 0 {
		c.waiting = c.waiting[1:]
	}
	c.proposed = &memberProposal{slot: slot, ballot: l.core.Ballot(), tenure: l.epoch.tenure, request: r.ID,
		until: r.Until}
}

// facts is what the master knows of the members.
func (l *Log) facts(now time.Duration) members.Facts {
	c := &l.changes
	f := members.Facts{Self: l.cfg.Self.Node, Era: uint32(min(l.state.Eras()+1, math.MaxUint32)), Slot: l.state.Applied(),
		Level: l.state.Level(), Unchanged: now - c.at, Checkpoints: l.checkpoints.frozen != nil,
		Disputed: l.digests.disputed(l.cfg.Self.Node, l.members.voters)}
	f.Settled, f.SettleWhy = l.settling.step(now, &c.record, l.members.peers, f.Self, &l.inForce, l.core.MarkedThrough())
	for i := range l.members.peers {
		p := &l.members.peers[i]
		n := members.Node{ID: p.node, Silent: now - max(p.heard, c.since)}
		n.Alive = p.connected && n.Silent < AliveFor // a new master gives it so long to be heard
		n.CaughtUp, n.Old = n.Alive && p.applied >= c.marks[0], p.heard > 0 && p.inForce == 0
		n.InForce, n.Quarantine = p.inForce, p.silent
		n.Agrees = l.digests.confirmed(p.node, c.slot, f.Self, l.members.voters, l.members.peers)
		f.Nodes = append(f.Nodes, n)
	}
	return f
}

// adopt takes over the record of an entry that was applied.
func (l *Log) adopt(e multipaxos.Entry) error {
	record, err := members.Decode(e.Value[1:])
	if err != nil {
		return err
	}
	if err := l.state.SetMembers(uint64(e.Slot), e.Value[1:], uint64(record.Membership.Era)); err != nil {
		return err
	}
	before := l.members.newest
	l.changes.applied(e, record)
	l.changes.at = l.now
	l.members.follow(record.Membership, record.NextNode)
	newest := l.members.newest.Newer(before)
	if newest {
		l.progress.follow(l.cfg.Self.Node, l.members.voters)
		l.prompt.follow(l.cfg.Self.Node, l.members.voters)
		l.hurry(l.now)
	}
	if l.inForce.apply(record.Membership.Number, e.Slot, newest) {
		l.core.Probe()
	}
	return nil
}

// askMembers takes a request about the members. Only the ready master carries it out.
func (l *Log) askMembers(now time.Duration, q *MembersRequest) {
	if l.epoch.ready && !l.stopping {
		l.changes.ask(now, *q, &l.out)
		return
	}
	why := NoMaster
	if l.leaving {
		why = Stopping
	}
	l.out.reply(Reply{ID: q.ID, Outcome: Refused, Reason: why, Members: &MembersAnswer{Master: l.master.other()}})
}
