package replica

import (
	"errors"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/multipaxos"
)

// Log is the log part. One goroutine steps it. The state is changed only under EffectApply, EffectFreeze and
// EffectCheckpointed, so that the shell can guard exactly these against readers.
//
// In which order its steps are taken is LogRound's to say, and nobody else's. Its components own what they are about,
// and put what they hand out into the outbox; what joins them is here.
type Log struct {
	cfg   Config
	core  *multipaxos.Core
	state *kv.State

	epoch epoch
	letGo LetGo // of a tenure that this part leads for no more, though the lease may still show it
	// stopping takes up no new work as master: the node hands over, or it is leaving.
	stopping, leaving bool

	members      membersView
	changes      changes
	settling     settling
	levels       levels
	own          ownForce
	master       masterView
	queue        queue
	batches      batches
	forwards     forwards
	reads        readers
	checkpoints  checkpoints
	pins         [pinners]multipaxos.Slot
	compareSlots compareSlots
	digests      digests
	differing    differing
	timers       timers
	progress     progress
	now          time.Duration // the newest clock reading
	ticks        uint64
	out          outbox
}

// NewLog is the log part of a run; core and state belong to it from here on.
func NewLog(cfg Config, core *multipaxos.Core, state *kv.State) (*Log, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	self := cfg.Self
	record, err := recordOf(state, cfg.Membership)
	if err != nil {
		return nil, err
	}
	newest, applied := cfg.Membership, uint64(0)
	if state.Members() != nil {
		applied = record.Membership.Number
	}
	if record.Membership.Newer(newest) {
		newest = record.Membership
	}
	l := &Log{
		cfg: cfg, core: core, state: state,
		members:  newMembers(self.Node, newest),
		changes:  changes{record: record},
		own:      ownForce{applied: applied},
		settling: settling{timing: cfg.Timing},
		levels:   levels{cfg: cfg.Level},
		master:   masterView{self: self.Node},
		queue:    queue{max: cfg.MaxQueued, maxBytes: cfg.MaxQueuedBytes},
		batches:  batches{max: cfg.MaxInFlight, maxBytes: cfg.MaxBatchBytes, gather: cfg.GatherFor},
		forwards: forwards{max: cfg.MaxForwarded, maxBytes: cfg.MaxQueuedBytes, maxMessage: cfg.MaxBatchBytes,
			nonce: self.Nonce},
		reads:        readers{max: cfg.MaxReads, nonce: self.Nonce},
		checkpoints:  checkpoints{maxBytes: cfg.CheckpointBytes, logBytes: cfg.CheckpointLogBytes, done: state.Applied()},
		compareSlots: newCompareSlots(cfg.CompareEvery, state.Applied()),
		timers:       timers{byName: map[timerName]*timer{}},
		progress:     newProgress(cfg.Progress, self.Node, newest.Voters()),
		out:          outbox{self: self.Node, maxBytes: cfg.MaxBatchBytes},
	}
	l.digests.add(Digest{Slot: state.Applied(), Sum: cfg.Digest}, false)
	state.Observe(kv.Observer{Timed: l.timers.learn})
	state.Timed(l.timers.learn)
	// Checkpointed comes first: the chosen mark on disk may be behind the state database, which proves that its slots
	// were chosen.
	core.Checkpointed(multipaxos.Slot(l.checkpoints.done))
	core.Applied(multipaxos.Slot(l.checkpoints.done))
	// It may not have got into force in the run before, and the heartbeats are to say that it has.
	l.own.announce = newest.Number > 1 || newest.Change > 0
	return l, nil
}

// ErrValue is damage in a chosen value.
var ErrValue = errors.New("replica: a chosen value is malformed")

// Chosen is the last slot that this node knows to be chosen, with all below it.
func (l *Log) Chosen() multipaxos.Slot { return l.core.Chosen() }

// Applied is the last slot in the state.
func (l *Log) Applied() multipaxos.Slot { return multipaxos.Slot(l.state.Applied()) }

// Level is the cluster's feature level, as applied.
func (l *Log) Level() uint64 { return l.state.Level() }

// MasterNode is who serves as far as this node has been told, 0 if unknown.
func (l *Log) MasterNode() ballot.NodeID { return l.master.node }

// handle takes an event, but for Checkpointed and Tick. An error is damage: the node must stop.
func (l *Log) handle(now time.Duration, e *Event) error {
	switch {
	case e.Log != nil:
		l.master.sees(e.Log.From, l.ticks)
		return l.core.Step(*e.Log)
	case e.Peer != nil:
		l.receive(now, e.Peer)
	case e.Write != nil:
		r := e.Write.takenAt(now)
		l.admit(write{id: r.ID, command: r.Command, frees: r.Frees, keyed: r.Keyed, at: now, until: r.Until})
	case e.Read != nil:
		l.reads.add(e.Read.takenAt(now), l.leaving, &l.out)
	case e.Persisted != 0:
		l.progress.durable(e.Persisted)
		return l.core.Persisted(e.Persisted)
	case e.Health != nil:
		l.progress.hear(now, e.From, *e.Health)
	case e.Up != 0:
		l.members.connected(e.Up, true)
		l.core.Connected(e.Up)
		l.out.send(Message{Kind: KindHeartbeat, To: e.Up, Heartbeat: l.heartbeat(now, 0)})
	case e.Down != 0:
		l.disconnected(e.Down)
	case e.Members != nil:
		l.askMembers(now, e.Members)
	case e.Level != nil:
		l.askLevel(now, e.Level)
	case e.InForce != nil:
		l.own.put(now, *e.InForce)
		l.members.announce(l.heartbeat(now, 0), &l.out)
	case e.Call != nil:
		e.Call(now)
	}
	return nil
}

// receive takes a message of another log part.
func (l *Log) receive(now time.Duration, m *Message) {
	l.master.sees(m.From, l.ticks)
	switch m.Kind {
	case KindHeartbeat:
		l.hear(now, m.From, m.Heartbeat)
	case KindForward:
		l.takeForwarded(now, m.From, m.Writes)
	case KindForwarded:
		if l.forwards.answered(now, m.From, m.Answers, l.leaving, &l.queue, &l.out) {
			l.master.forget(m.From)
		}
	case KindReadPoint:
		l.reads.fromFollower(now, m.From, m.Read, l.epoch.ready && !l.stopping, &l.out)
	case KindReadPointR:
		if l.reads.fromMaster(m.From, m.Read) {
			l.master.forget(m.From)
		}
	}
}

// hear takes another node's heartbeat. What waits for the answers of a former master starts again.
func (l *Log) hear(now time.Duration, from ballot.NodeID, h Heartbeat) {
	if !l.members.hear(now, from, h) {
		return
	}
	old, changed := l.master.hear(now, l.ticks, from, h)
	if !changed {
		return
	}
	l.forwards.recall(from, &l.queue)
	if old != from {
		l.reads.recall(old)
	}
}

// admit queues w or refuses it.
func (l *Log) admit(w write) {
	switch {
	case l.leaving || (l.stopping && w.from != 0):
		l.out.answer(w, Refused, Stopping, kv.Result{})
	case l.queue.full(w):
		l.out.answer(w, Refused, Overloaded, kv.Result{})
	case l.epoch.ready && !l.members.spaceFor(w.frees):
		l.out.answer(w, Refused, NoSpace, kv.Result{})
	default:
		l.queue.push(w)
	}
}

// takeForwarded admits writes that another node forwarded. A node that holds no lease refuses them.
func (l *Log) takeForwarded(now time.Duration, from ballot.NodeID, writes []ForwardedWrite) {
	for _, f := range writes {
		w := write{id: f.ID, from: from, command: f.Command, frees: f.Frees, at: now, until: now + f.WaitFor}
		if l.epoch.tenure == 0 {
			l.out.answer(w, Refused, NoMaster, kv.Result{})
			continue
		}
		l.admit(w)
	}
}

// disconnected forgets what is on its way to peer: keyed writes and reads start again, other writes are unknown.
func (l *Log) disconnected(peer ballot.NodeID) {
	l.members.connected(peer, false)
	l.master.forget(peer)
	l.forwards.lost(peer, &l.queue, &l.out)
	l.reads.recall(peer)
	l.queue.take(func(w write) bool { return w.from == peer }) // nobody is left to answer
}

// tick drives retransmission, heartbeats, time-outs and timers; it comes every TickEvery.
func (l *Log) tick(now time.Duration, p Published) error {
	l.ticks++
	l.now = now
	if err := l.tickDigests(now, p); err != nil {
		return err
	}
	l.tickProgress(now, p)
	why := l.master.whyWaiting(l.epoch.ready, l.ticks)
	l.queue.expire(now, why, &l.out)
	l.batches.expire(now, &l.out)
	l.forwards.expire(now, &l.out)
	l.reads.expire(now, why, &l.out)
	l.master.expire(now, l.cfg.MasterTimeout)
	l.changes.expire(now, &l.out)
	l.changes.tick(l.ticks, l.state.Applied())
	if l.ticks%heartbeatTicks == 0 {
		l.members.announce(l.heartbeat(now, p.Deadline), &l.out)
	}
	if l.epoch.ready && !l.stopping && p.HeldAs(l.epoch.tenure, now) {
		l.timers.ask(now, &l.queue)
	}
	l.tickLevels(now, p)
	return l.core.Tick()
}

// TickEvery is the distance between two Ticks, and heartbeatTicks the number of them between two heartbeats.
const (
	TickEvery      = 20 * time.Millisecond
	heartbeatTicks = 5
)

// heartbeat is what this node says of itself.
func (l *Log) heartbeat(now, deadline time.Duration) Heartbeat {
	h := l.epoch.heartbeat(l.state.Applied(), l.members.space, now, deadline)
	h.Membership, h.Excluding = l.own.told(now, l.core.SyncedThrough())
	if h.Digests = l.digests.told; len(h.Digests) > 0 {
		h.DigestFormat = kv.DigestFormat
	}
	h.Level = l.levels.cfg.Newest
	return h
}

// advance follows the lease and moves every waiting request on as far as it can go now.
func (l *Log) advance(now time.Duration, p Published) {
	l.now = now
	l.follow(now, p)
	l.epoch.open(l.core)
	switch {
	case l.epoch.ready && l.stopping: // what waits goes to the next master
	case l.epoch.ready:
		l.driveMembers(now)
		if l.changes.holds {
			l.queue.refuseFull(&l.members, &l.out)
		} else if l.queue.refuseFull(&l.members, &l.out) && !l.checkpoints.full(l.state.TableBytes()) {
			l.batches.propose(now, &l.queue, l.core, l.epoch.tenure, &l.out)
		}
		l.reads.start(l.core, l.ticks)
	case l.epoch.tenure == 0:
		l.queue.sendBack(&l.out)
		master := l.master.other()
		if master != 0 && !l.master.silent(l.ticks) {
			l.forwards.forward(now, &l.queue, master, &l.out)
		}
		l.reads.ask(master, l.ticks, &l.out)
	}
}

// follow implements M1 and M5: a tenure of the lease that is new to this part opens a new epoch and forgets any
// earlier recovery; the end of the tenure ends leading; a higher promise ends readiness and starts recovery again
// under a new ballot within the same tenure. Continuity is decided by the tenure's number, which is stored data.
func (l *Log) follow(now time.Duration, p Published) {
	held := p.Held(now) && p.Tenure != l.letGo.Tenure && l.members.votes()
	leads := l.epoch.tenure
	if leads == 0 && l.stopping {
		return
	}
	switch {
	case leads != 0 && !l.members.votes():
		l.letGo = LetGo{Tenure: leads, Reason: ReasonNoVoter}
		l.stepDown(now)
	case leads != 0 && (!held || p.Tenure != leads):
		l.stepDown(now)
		if held {
			l.epoch.lead(l.core, p.Tenure)
		}
	case leads == 0 && held:
		l.epoch.lead(l.core, p.Tenure)
	case leads != 0 && l.core.Preempted():
		l.closeEpoch()
		l.epoch.lead(l.core, p.Tenure)
	}
}

// stepDown ends leading: the lease was lost or is about to be given up.
func (l *Log) stepDown(now time.Duration) {
	l.closeEpoch()
	l.core.Retire()
	l.epoch.tenure = 0
	l.members.announce(l.heartbeat(now, 0), &l.out)
}

// closeEpoch ends readiness. What was proposed and not acknowledged stays unknown; what waits to be proposed waits on.
func (l *Log) closeEpoch() {
	l.epoch.close()
	l.master.resign()
	l.changes.end(l.master.node, &l.out)
	l.settling.reset()
	l.batches.abandon(&l.out)
	l.timers.recall(&l.queue)
	l.timers.out = 0 // those in flight are lost: the next ready master asks again
	l.queue.sendBack(&l.out)
	l.reads.refuseRemote(&l.out)
}

// apply applies chosen entries in slot order, up to a bounded number of bytes. An error is damage: the node must stop.
func (l *Log) apply() error {
	from := multipaxos.Slot(l.state.Applied() + 1)
	if l.core.Chosen() < from {
		return nil
	}
	entries, err := l.core.ChosenEntries(from, l.cfg.ApplyBytes)
	if err != nil {
		return err
	}
	level := l.state.Level()
	for _, e := range entries {
		if err := l.applyEntry(e); err != nil {
			return err
		}
		l.checkpoints.applied(e)
		l.compareHere()
		l.epoch.applied(e)
	}
	l.core.Applied(multipaxos.Slot(l.state.Applied()))
	if l.state.Level() > level {
		l.WantCheckpoint() // from which a release that does not know the level sees that it must not run here
	}
	return nil
}

// applyEntry applies a chosen entry: the record of the members, or a batch of commands.
func (l *Log) applyEntry(e multipaxos.Entry) error {
	if len(e.Value) > 0 && e.Value[0] == tagMembers {
		l.timers.over(l.batches.apply(e, nil)) // who proposed a batch in this slot has lost it
		return l.adopt(e)
	}
	commands, err := batchOf(e)
	if err != nil {
		return err
	}
	results, err := l.state.Apply(uint64(e.Slot), commands)
	if err != nil {
		return err
	}
	l.timers.over(l.batches.apply(e, results))
	return nil
}

// needsTime reports whether finish would decide anything by its clock reading, which must then be a fresh one. Else any
// reading of this round will do.
func (l *Log) needsTime() bool {
	return len(l.batches.applied) > 0 || len(l.changes.answers) > 0 || len(l.timers.fresh) > 0 ||
		len(l.reads.pending) > 0 || (l.epoch.ready && !l.master.isSelf())
}

// finish ends a round of inputs: now is a clock reading made after entries were applied, p what is published at that
// time. Writes are acknowledged, and reads get their points, only under the lease.
func (l *Log) finish(now time.Duration, p Published) {
	l.batches.acknowledge(now, p, l.epoch.tenure, &l.out)
	l.changes.acknowledge(now, p, l.epoch.tenure, &l.out)
	l.timers.settle(now)
	if l.epoch.ready && !l.master.isSelf() {
		l.becomeMaster(now, p)
	}
	if l.epoch.ready && len(l.reads.pending) > 0 {
		l.reads.finishAtMaster(now, p, &l.epoch, l.state.Applied(), l.core, &l.out)
	}
	l.reads.finish(l.state.Applied(), &l.out)
	l.checkpoints.hand(l.core.SyncedThrough(), &l.out)
	l.announce()
}

// becomeMaster tells everybody that this node is ready to serve, and begins to measure times.
func (l *Log) becomeMaster(now time.Duration, p Published) {
	l.master.become(l.epoch.number(), now)
	l.forwards.recall(l.cfg.Self.Node, &l.queue)
	l.members.announce(l.heartbeat(now, p.Deadline), &l.out)
	l.timers.rearm(now)
	l.changes.begin(now, l.state.Applied(), l.ticks)
}

// take drains the output, and that of the core.
func (l *Log) take() Output {
	o := l.core.Take()
	for i := range o.Persists {
		l.progress.disk.begin(l.now, o.Persists[i].Seq)
	}
	out := l.out.take()
	out.Persists, out.Log = o.Persists, o.Messages
	out.Apply = uint64(l.core.Chosen()) > l.state.Applied()
	if l.epoch.ready {
		out.Ready, out.Epoch = l.epoch.tenure, l.epoch.number()
	}
	return out
}
