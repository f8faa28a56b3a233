package replica

import (
	"errors"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica/elector"
)

// Log is the log part. One goroutine steps it. The state is changed only under effect.Apply, effect.Freeze and
// effect.Checkpointed, so that the runner can guard exactly these against readers.
//
// Only LogRound decides the order of its steps. Each component owns its data and puts its output into the outbox. Log
// joins the components.
type Log struct {
	cfg   Config
	core  *multipaxos.Core
	state *kv.State

	epoch epoch
	letGo elector.LetGo // of a tenure that this part leads for no more, though the lease may still show it
	// stopping takes up no new work as master: the node hands over, or it is leaving.
	stopping, leaving bool

	members      membersView
	changes      changes
	settling     settling
	levels       levels
	inForce      inForceHere
	master       masterView
	queue        queue
	batches      batches
	forwards     forwards
	reads        readers
	checkpoints  checkpoints
	pins         pins
	compareSlots compareSlots
	digests      digests
	differing    differing
	timers       timers
	progress     progress
	prompt       prompt
	now          time.Duration // the reading of the tick or advance under way, or of the last one
	deadline     time.Duration // of the lease, as published last
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
		changes:  changes{record: record, slot: state.Applied()},
		inForce:  inForceHere{applied: applied},
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
		pins:         noPins(),
		timers:       timers{byName: map[timerName]*timer{}},
		progress:     newProgress(ProgressFor(cfg.Timing.MaxMaster), self.Node, newest.Voters()),
		out:          outbox{self: self.Node, maxBytes: cfg.MaxBatchBytes},
	}
	l.members.follow(record.Membership, record.NextNode)
	l.prompt.follow(self.Node, l.members.voters)
	l.digests.add(Digest{Slot: state.Applied(), Sum: cfg.Digest}, false)
	state.Observe(kv.Observer{Timed: l.timers.learn})
	state.Timed(l.timers.learn)
	// Checkpointed comes first: the chosen mark on disk may be behind the state database, which proves that its slots
	// were chosen.
	core.Checkpointed(multipaxos.Slot(l.checkpoints.done))
	core.Applied(multipaxos.Slot(l.checkpoints.done))
	// It may not have got into force in the run before, and the heartbeats are to say that it has.
	l.inForce.announce = newest.Number > 1 || newest.Change > 0
	return l, nil
}

// ErrValue is damage in a chosen value.
var ErrValue = errors.New("replica: a chosen value is malformed")

// Position is how far a log part is, and whom it follows.
type Position struct {
	Chosen  multipaxos.Slot // the last slot that this node knows to be chosen, with all below it
	Applied multipaxos.Slot // the last slot in the state
	Level   uint64          // the cluster's feature level, as applied
	Master  ballot.NodeID   // who serves as far as this node has been told; 0: unknown
}

// Position returns where the log part is now.
func (l *Log) Position() Position {
	return Position{Chosen: l.core.Chosen(), Applied: multipaxos.Slot(l.state.Applied()), Level: l.state.Level(),
		Master: l.master.node}
}

// handle takes an event, but for Checkpointed and Tick. An error is damage: the node must stop.
func (l *Log) handle(now time.Duration, e *Event) error {
	switch {
	case e.Log != nil:
		if l.members.outsider(e.Log.From) {
			if !l.members.takesLog(e.Log, l.ticks) {
				return nil
			}
		} else {
			l.master.sees(e.Log.From, l.ticks)
		}
		if e.Log.Kind == multipaxos.KindAccepted {
			l.prompt.acknowledged(now, e.Log)
		}
		return l.core.Step(*e.Log)
	case e.Peer != nil:
		l.receive(now, e.Peer)
	case e.Write != nil:
		l.admit(writeAt(now, 0, *e.Write))
	case e.Read != nil:
		l.reads.add(now, e.Read, l.leaving, &l.out)
	case e.Persisted != 0:
		l.progress.durable(e.Persisted)
		l.core.Persisted(e.Persisted)
	case e.Health != nil:
		l.progress.hear(e.Heard, e.From, *e.Health)
	case e.Up != 0:
		l.members.connected(e.Up, true)
		l.prompt.forget(e.Up)
		l.core.Connected(e.Up)
		l.out.send(Message{Kind: KindHeartbeat, To: e.Up, Heartbeat: l.heartbeat(now)})
	case e.Down != 0:
		l.disconnected(e.Down)
	case e.Members != nil:
		l.askMembers(now, e.Members)
	case e.Level != nil:
		l.askLevel(now, e.Level)
	case e.InForce != nil:
		l.inForce.put(now, *e.InForce)
		l.members.announce(l.heartbeat(now), &l.out)
	case e.Call != nil:
		e.Call(now)
	}
	return nil
}

// receive takes a message of another log part.
func (l *Log) receive(now time.Duration, m *Message) {
	switch {
	case l.members.outsider(m.From) && m.Kind == KindHeartbeat:
		if l.members.hearOutsider(m.From, m.Heartbeat, l.ticks) && m.Heartbeat.Applied > l.state.Applied() {
			l.core.Ask(m.From)
		}
		return
	case !l.members.takes(m):
		return
	}
	l.master.sees(m.From, l.ticks)
	switch m.Kind {
	case KindHeartbeat:
		l.hear(now, m.From, m.Heartbeat)
	case KindForward:
		l.prompt.asked(m.From, l.ticks)
		for _, f := range m.Writes {
			l.admit(writeAt(now, m.From, f))
		}
	case KindForwarded:
		if l.forwards.answered(now, m.From, m.Answers, l.leaving, &l.queue, &l.out) {
			l.master.forget(m.From)
		}
	case KindReadPoint:
		l.prompt.asked(m.From, l.ticks)
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
	// There may be no leader to send the missing entries. None is elected while too many voters lack the newest
	// membership.
	if h.Membership > l.members.newest.Number && h.Applied > l.state.Applied() {
		l.core.Ask(from)
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

// disconnected forgets what is on its way to peer: keyed writes and reads start again, other writes are unknown.
func (l *Log) disconnected(peer ballot.NodeID) {
	l.members.connected(peer, false)
	if l.prompt.forget(peer); l.prompt.named.Has(peer) {
		l.hurry(l.now)
	}
	l.master.forget(peer)
	l.forwards.lost(peer, &l.queue, &l.out)
	l.reads.recall(peer)
	l.queue.remove(func(w write) bool { return w.from == peer }) // nobody is left to answer
}
