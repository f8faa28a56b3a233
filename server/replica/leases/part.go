package leases

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
	"tenure/lease/named"
)

// Part is the part of a node for named leases: its acceptor, and the attempts that it runs for clients.
//
// Each request of a client is a task. A task has an attempt under way, or waits for its time. Of those that wait for
// one busy name only the first tries, so that the contenders for a name are no more than the nodes.
type Part struct {
	cfg     Config
	table   *named.Table
	counter uint64      // the highest used or seen: ballots of this run are unique (T4)
	highest named.Token // largest token seen

	tasks     map[uint64]*task // by request
	byCounter map[uint64]*task // with an attempt or a release under way
	queues    queues
	voters    voters
	pauses    pauses
	timers    timers
	resends   resends
	sweepAt   time.Duration
	counting  bool // the table counts exclusions of older stamps
	stopped   bool
	out       outbox
}

// New returns the part of a run that begins at now. Until an event brings an era its acceptor is silent.
func New(c Config, now time.Duration) (*Part, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	table, err := named.NewTable(c.Table, now)
	if err != nil {
		return nil, err
	}
	l := &Part{
		cfg: c, table: table, sweepAt: now, tasks: map[uint64]*task{}, byCounter: map[uint64]*task{},
		voters: voters{self: c.Self.Node, voters: c.Voters, silences: map[ballot.NodeID]time.Duration{}},
		pauses: newPauses(c.Self.Node, c.Voters, c.Seed),
	}
	l.queues = queues{byName: map[named.Name]*queue{}, table: table, timers: &l.timers, pauses: &l.pauses}
	return l, nil
}

// request takes a client's request. Exactly one answer with its ID comes out of the outbox, now or later.
func (l *Part) request(now time.Duration, r Request) {
	waits := r.Op == Acquire && r.WaitUntil > now
	if len(l.tasks) >= l.cfg.MaxTasks || (waits && l.queues.waiting >= l.cfg.MaxTasks/2) || l.stopped {
		a := Answer{ID: r.ID, Outcome: NotApplied, Reason: Overloaded}
		if l.stopped {
			a.Reason = Stopping
		}
		l.out.answers = append(l.out.answers, a)
		return
	}
	t := &task{req: r, began: now}
	l.tasks[r.ID] = t
	switch {
	case r.Op == Release:
		l.startRelease(now, t)
	case waits:
		if l.queues.join(now, t) {
			l.start(now, t)
		}
	default:
		l.start(now, t)
	}
}

// open is N3: era was allotted by an entry of the log that names this very run.
func (l *Part) open(era uint32) {
	l.table.Open(era)
	l.highest = max(l.highest, l.table.Floor())
}

// needsEra reports whether this run must ask the log for an era: it has none, or the newest tokens have used half of
// theirs (N3).
func (l *Part) needsEra() bool {
	return !l.table.Opened() || (l.highest.HalfUsed() && l.highest.Era() >= l.table.Floor().Era())
}

// Live is what this node's acceptor knows of a name's owner: a hint (L1).
func (l *Part) Live(now time.Duration, n named.Name) (named.Lease, bool) {
	return l.table.Live(now, n)
}

// Walk is what this node's acceptor knows of live leases, some at a time: hints. See named.Table.
func (l *Part) Walk(now time.Duration, from uint32, most int, fn func(name string, h named.Lease)) (next uint32) {
	return l.table.Walk(now, from, most, fn)
}

// Status is what there is to show.
func (l *Part) Status(now time.Duration) Status {
	return Status{Records: l.table.Records(), Floor: l.table.Floor(), Opened: l.table.Opened(),
		QuarantineLeft: l.table.QuarantineLeft(now), Attempts: len(l.byCounter), Waiting: l.queues.waiting}
}

// stop answers everything that is under way or waits, and refuses what comes later. The acceptor goes on.
func (l *Part) stop() {
	l.stopped = true
	for _, id := range sortedTasks(l.tasks) {
		t := l.tasks[id]
		a := Answer{ID: id, Outcome: NotApplied, Reason: Stopping}
		if t.req.Op == Release || t.asked || t.attempt.Asked() {
			a.Outcome = Unknown
		}
		l.answer(t, a)
	}
}

// cancel ends a task whose client has gone. An attempt under way may finish until its next resend is due. After that
// nothing more is tried: the client would not know of its lease.
func (l *Part) cancel(id uint64) {
	t := l.tasks[id]
	switch {
	case t == nil:
	case t.counter == 0:
		a := Answer{ID: id, Outcome: NotApplied, Reason: Stopping}
		if t.asked {
			a.Outcome = Unknown
		}
		l.answer(t, a)
	default:
		t.req.Until, t.req.WaitUntil = 0, 0
	}
}

// receive takes what another node, as its incarnation from, has sent.
func (l *Part) receive(now time.Duration, from ballot.Incarnation, b *Batch) {
	for i := range b.Requests {
		q := &b.Requests[i]
		if reply, ok := l.table.Handle(now, from, *q); ok {
			l.out.reply(from, reply)
		} else {
			l.tellSilence(now, from, q)
		}
		if q.Kind == named.Release || q.Kind == named.Withdraw {
			l.queues.released(now, q.Name)
		}
	}
	if b.For != l.cfg.Self {
		return // replies to a run before
	}
	l.voters.heard(from.Node)
	for i := range b.Replies {
		l.handle(now, from.Node, &b.Replies[i])
	}
}

// start begins an attempt of t.
func (l *Part) start(now time.Duration, t *task) {
	if wait := l.voters.silence(now, l.table.QuarantineLeft(now)); wait > 0 {
		l.refuseInSilence(now, t, wait)
		return
	}
	l.counter = max(l.counter, l.table.Promised(t.req.Name))
	t.counter, t.tried, t.resent, t.wide = l.nextCounter(), now, 0, false
	t.first, t.voted = l.voters.first(t.counter), quorum.Set{}
	t.tries++
	t.attempt = named.Begin(now, named.Ask{Name: t.req.Name, Acquisition: t.req.Acquisition, Owner: t.req.Owner,
		Text:     t.req.Text,
		Duration: t.req.Duration, Renewal: t.req.Op == Renew, AtLeast: t.atLeast, Membership: l.table.Membership()},
		l.cfg.Voters, t.counter)
	l.byCounter[t.counter] = t
	l.resends.add(now+resendEvery, t.counter)
	l.send(now, t)
}

// nextCounter is T4. Counters that were seen are below lease.MaxCounter: messages with others are dropped.
func (l *Part) nextCounter() uint64 {
	l.counter++
	return l.counter
}

func (l *Part) startRelease(now time.Duration, t *task) {
	t.counter = l.nextCounter()
	l.byCounter[t.counter] = t
	l.resends.add(now+resendEvery, t.counter)
	l.send(now, t)
}

// send sends what the task's attempt asks of those that have not answered. Others come first: they work meanwhile.
func (l *Part) send(now time.Duration, t *task) {
	q, to := t.outstanding(now, l.cfg.Voters)
	own := false
	for i := range to.Len() {
		switch n := to.At(i); {
		case n == l.cfg.Self.Node:
			own = true
		default:
			l.out.request(now, n, q, t.wide || t.first.Has(n) || q.Kind == named.Release)
		}
	}
	if !own {
		return
	}
	reply, ok := l.table.Handle(now, l.cfg.Self, q)
	if q.Kind == named.Release {
		l.queues.released(now, q.Name)
	}
	if !ok {
		l.voters.note(l.cfg.Self.Node)
		return
	}
	l.voters.heard(l.cfg.Self.Node)
	l.handle(now, l.cfg.Self.Node, &reply)
}

// widen hurries to all voters from now on, and what lingers for them.
func (l *Part) widen(t *task) {
	t.wide = true
	l.out.hurry()
}

// handle takes an acceptor's reply.
func (l *Part) handle(now time.Duration, from ballot.NodeID, r *named.Reply) {
	t := l.byCounter[r.Counter]
	if t != nil && r.Name != t.req.Name {
		t = nil
	}
	if r.Kind == named.Silent {
		if r.Check() == nil {
			l.isSilent(now, t, from, r.Left)
		}
		return
	}
	l.voters.speaks(from)
	if t == nil {
		return
	}
	if t.req.Op == Release {
		l.confirm(t, from, r)
		return
	}
	moved := t.attempt.Handle(now, from, *r)
	switch {
	case moved && t.attempt.Phase() == named.Over:
		l.finish(now, t)
	case moved:
		t.voted.Add(from)
		if !t.wide {
			l.voters.missed(t.first, t.voted.Has) // enough have promised
		}
		t.first = t.voted // they answer: they are asked at once to accept
		l.send(now, t)
	case r.Kind == named.PrepareRejected, r.Kind == named.AcceptRejected, r.Live && r.LiveAcquisition != t.req.Acquisition:
		l.widen(t) // one vote less
	case r.Kind == named.Promise:
		t.voted.Add(from)
	}
}

// confirm counts the acceptors that know of a release.
func (l *Part) confirm(t *task, from ballot.NodeID, r *named.Reply) {
	if r.Kind != named.Released || !l.cfg.Voters.Has(from) {
		return
	}
	t.votes = t.votes.In(l.cfg.Voters) // those of before may be none any more
	t.votes.Add(from)
	if quorum.Reached(l.cfg.Voters, t.votes) {
		l.answer(t, Answer{ID: t.req.ID, Outcome: Done})
	}
}

// finish draws the conclusion from an attempt that is over.
func (l *Part) finish(now time.Duration, t *task) {
	a := &t.attempt
	delete(l.byCounter, t.counter)
	t.counter = 0
	if w, ok := a.Withdrawal(); ok {
		l.withdraw(now, w)
	}
	if a.Promised() < lease.MaxCounter {
		l.counter = max(l.counter, a.Promised())
	}
	t.atLeast, t.asked = max(t.atLeast, a.Reported()), t.asked || a.Asked()
	l.highest = max(l.highest, t.atLeast, a.Token())
	end := a.End()
	switch {
	case end == named.EndWon:
		l.answer(t, Answer{ID: t.req.ID, Outcome: Done, Token: a.Token(), Counter: a.Counter(),
			Waited: t.tried - t.began})
	case end == named.EndLost, end == named.EndBlocked && t.req.Op == Renew:
		l.answer(t, Answer{ID: t.req.ID, Outcome: Gone})
	case t.queue != nil && now < t.req.WaitUntil:
		l.queues.wait(now, t)
	case end == named.EndRejected && t.tries < triesMost && now < t.req.Until:
		l.timers.add(now+l.pauses.backoff(t.tries), timer{retry: t.req.ID})
	default:
		l.answer(t, t.failed())
	}
}

// withdraw undoes what an attempt left behind.
func (l *Part) withdraw(now time.Duration, w named.Request) {
	for i := range l.cfg.Voters.Len() {
		if n := l.cfg.Voters.At(i); n != l.cfg.Self.Node {
			l.out.request(now, n, w, true)
			continue
		}
		l.table.Handle(now, l.cfg.Self, w)
		l.queues.released(now, w.Name)
	}
}

// answer is the end of a task.
func (l *Part) answer(t *task, a Answer) {
	delete(l.tasks, t.req.ID)
	if t.counter != 0 {
		delete(l.byCounter, t.counter)
		t.counter = 0
	}
	l.out.answers = append(l.out.answers, a)
	l.queues.leave(t)
}
