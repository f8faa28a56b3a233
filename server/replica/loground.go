package replica

import (
	"time"

	"tenure/internal/ballot"
	"tenure/multipaxos"
	"tenure/server/replica/effect"
)

// Event is one input of the log part. At most one of its fields is set, but From and Heard go with Health, and Digest with
// Checkpointed. An empty event only makes a round happen. What an event points to belongs to the log part from then on.
type Event struct {
	Log          *multipaxos.Message
	Peer         *Message
	Write        *Write
	Read         *ReadRequest
	Persisted    uint64 // every Persist up to this one is durable
	Checkpointed bool   // what effect.Checkpoint has handed out is durable and visible
	Digest       uint64 // of Checkpointed: of the whole state that is durable now; 0: it is not known
	Tick         bool   // comes every TickEvery
	Health       *Health
	From         ballot.NodeID // of Health
	Heard        time.Duration // of Health: when it came, which may be long ago if the log has hung
	Up, Down     ballot.NodeID // the log connection to that peer stands, or is broken
	Members      *MembersRequest
	Level        *LevelRequest
	InForce      *MembersInForce
	Call         func(now time.Duration)
}

// MembersInForce answers effect.Members: the membership with that number is durable here and in force in both lease
// parts. Excluding is as in Heartbeat.
type MembersInForce struct {
	Number    uint64
	Excluding time.Duration
	Silent    time.Duration // of that, what the acceptor of the master lease says
}

// LogRound drives the log part: it is the order in which a round takes events, persists, sends, applies, reads the
// clock and answers. To run the log part, call Next, carry out the effect, and repeat. One goroutine at a time. A round
// in which nothing happens allocates nothing.
//
// The order is that of logBeginning, and then that of logPass, again as long as entries were applied: they may have
// opened the epoch, or made space for more.
type LogRound struct {
	log    *Log
	order  []logStep // what is under way
	at     int       // in order
	clock  effect.ClockStep
	pub    Published     // as of the newest reading
	locked effect.Effect // Locked must be called for this one
	events []*Event
	taken  int  // of events, so many are with the log part
	tick   bool // there is a tick among them
	again  bool
	digest uint64 // of the checkpoint that effect.Checkpointed is about
	out    Output
	acks   bool // out is of the second half of a pass

	ready, epoch uint64 // as last handed out
	level        uint64 // likewise
}

// logStep is one step of the order. It does its pure work and returns the effect for the caller, or 0.
type logStep func(*LogRound) (effect.Effect, error)

// logBeginning is how a round begins. The clock is read after the events were taken: no event is handled by a reading
// from before it came.
var logBeginning = []logStep{
	(*LogRound).begin,
	(*LogRound).readClock,
	(*LogRound).handle,
	(*LogRound).passTime,
	(*LogRound).freeze,
}

// logPass moves everything on as far as it goes now. Effects go out in the same order both times. Persists come first,
// so that the disk works while messages are encoded. Readiness comes before replies, so that a granted read finds its
// epoch. Between the halves entries are applied, and then the clock is read again: a write is acknowledged only under a
// lease that was held after the write was applied.
var logPass = []logStep{
	(*LogRound).advance,
	(*LogRound).persist,
	(*LogRound).require,
	(*LogRound).publish,
	(*LogRound).progress,
	(*LogRound).members,
	(*LogRound).dismiss,
	(*LogRound).send,
	(*LogRound).reply,
	(*LogRound).checkpoint,
	(*LogRound).apply,
	(*LogRound).readClockAgain,
	(*LogRound).finish,
	(*LogRound).persist,
	(*LogRound).require,
	(*LogRound).publish,
	(*LogRound).progress,
	(*LogRound).members,
	(*LogRound).dismiss,
	(*LogRound).send,
	(*LogRound).reply,
	(*LogRound).checkpoint,
}

// NewLogRound returns the driver of a log part before its first round.
func NewLogRound(l *Log) *LogRound { return &LogRound{log: l, order: logBeginning} }

// Next goes on to the next effect. An error is damage: the node must stop, and Next is not called again.
func (r *LogRound) Next() (effect.Effect, error) {
	r.clock.MustHaveRead()
	if r.locked != 0 {
		panic("replica: a round goes on without Locked")
	}
	for r.at < len(r.order) || r.again {
		if r.at == len(r.order) {
			r.order, r.at, r.again = logPass, 0, false
		}
		step := r.order[r.at]
		r.at++
		if e, err := step(r); e != 0 || err != nil {
			return e, err
		}
	}
	r.order, r.at, r.again = logBeginning, 0, false
	return effect.Done, nil
}

// Add hands an event over, as an answer to effect.Take. It is the round's until effect.Done.
func (r *LogRound) Add(e *Event) { r.events = append(r.events, e) }

// Read hands a reading of the node's elapsed clock over, as the answer to effect.Clock, with what was published when,
// or after, it was made.
func (r *LogRound) Read(now time.Duration, p Published) {
	r.clock.Read(now)
	r.pub = p
}

// Locked does what effect.Apply, effect.Freeze or effect.Checkpointed was handed out for. The caller holds the lock on
// the state for writing. An error is damage.
func (r *LogRound) Locked() error {
	e := r.locked
	r.locked = 0
	l := r.log
	switch e {
	case effect.Apply:
		return l.apply()
	case effect.Checkpointed:
		return r.checkpointed()
	case effect.Freeze:
		l.checkpoints.begin(l.state, l.ticks)
		return nil
	}
	panic("replica: nothing waits for the lock")
}

// Output is what effect.Persist to effect.Checkpoint are about. The caller may keep what it points to.
func (r *LogRound) Output() *Output { return &r.out }

// Acknowledges reports whether Output is of the second half of a pass. Its answers are then those of the master. For
// checks.
func (r *LogRound) Acknowledges() bool { return r.acks }

// Now is the newest reading of the clock in this round.
func (r *LogRound) Now() time.Duration { return r.clock.Now() }

func (r *LogRound) begin() (effect.Effect, error) {
	clear(r.events)
	r.events, r.taken, r.tick = r.events[:0], 0, false
	return effect.Take, nil
}

func (r *LogRound) readClock() (effect.Effect, error) { return r.clock.Ask(), nil }

// handle gives the events to the log part, in their order; a tick comes after all others.
func (r *LogRound) handle() (effect.Effect, error) {
	for r.taken < len(r.events) {
		e := r.events[r.taken]
		r.taken++
		r.tick = r.tick || e.Tick
		if e.Checkpointed {
			r.at-- // the rest comes after it
			r.digest = e.Digest
			return r.lock(effect.Checkpointed)
		}
		if err := r.log.handle(r.clock.Now(), e); err != nil {
			return 0, err
		}
	}
	r.again = true // logPass follows
	return 0, nil
}

func (r *LogRound) passTime() (effect.Effect, error) {
	if !r.tick {
		return 0, nil
	}
	return effect.Standing, r.log.tick(r.clock.Now(), r.pub)
}

func (r *LogRound) freeze() (effect.Effect, error) {
	if r.tick && r.freezes() {
		return r.lock(effect.Freeze)
	}
	return 0, nil
}

func (r *LogRound) advance() (effect.Effect, error) {
	r.log.advance(r.clock.Now(), r.pub)
	r.out, r.acks = r.drainOutput(), false
	r.again = r.out.Apply
	return 0, nil
}

func (r *LogRound) persist() (effect.Effect, error) {
	return effect.Persist.Unless(len(r.out.Persists) == 0), nil
}

// require hands out the level that peers must know when it has changed.
func (r *LogRound) require() (effect.Effect, error) {
	if r.out.Level == r.level {
		return 0, nil
	}
	r.level = r.out.Level
	return effect.Level, nil
}

// publish hands readiness out when it has changed.
func (r *LogRound) publish() (effect.Effect, error) {
	if r.out.Ready == r.ready && (r.ready == 0 || r.out.Epoch == r.epoch) {
		return 0, nil
	}
	r.ready, r.epoch = r.out.Ready, r.out.Epoch
	return effect.Ready, nil
}

func (r *LogRound) progress() (effect.Effect, error) {
	return effect.Progress.Unless(r.out.Health == nil && r.out.LetGo.Tenure == 0), nil
}

func (r *LogRound) members() (effect.Effect, error) {
	return effect.Members.Unless(r.out.Members == nil), nil
}

func (r *LogRound) dismiss() (effect.Effect, error) {
	return effect.Dismiss.Unless(r.out.Dismiss == 0), nil
}

func (r *LogRound) send() (effect.Effect, error) {
	return effect.Send.Unless(len(r.out.Log) == 0 && len(r.out.Messages) == 0), nil
}

func (r *LogRound) reply() (effect.Effect, error) {
	return effect.Reply.Unless(len(r.out.Replies) == 0), nil
}

func (r *LogRound) checkpoint() (effect.Effect, error) {
	return effect.Checkpoint.Unless(r.out.Checkpoint == nil), nil
}

func (r *LogRound) apply() (effect.Effect, error) {
	if !r.out.Apply {
		return 0, nil
	}
	return r.lock(effect.Apply)
}

// readClockAgain reads the clock after entries were applied, unless nothing is decided by it.
func (r *LogRound) readClockAgain() (effect.Effect, error) {
	if !r.needsTime() {
		return 0, nil
	}
	return r.clock.Ask(), nil
}

func (r *LogRound) finish() (effect.Effect, error) {
	r.log.finish(r.clock.Now(), r.pub)
	r.out, r.acks = r.drainOutput(), true
	return 0, nil
}

func (r *LogRound) lock(e effect.Effect) (effect.Effect, error) {
	r.locked = e
	return e, nil
}

// needsTime reports whether finish would decide anything by its clock reading, which must then be a fresh one. Else any
// reading of this round will do.
func (r *LogRound) needsTime() bool {
	l := r.log
	return len(l.batches.applied) > 0 || len(l.changes.answers) > 0 || len(l.timers.fresh) > 0 ||
		len(l.reads.pending) > 0 || (l.epoch.ready && !l.master.isSelf())
}

// drainOutput drains the output, and that of the core.
func (r *LogRound) drainOutput() Output {
	l := r.log
	o := l.core.Take()
	for i := range o.Persists {
		l.progress.disk.begin(l.now, o.Persists[i].Seq)
	}
	out := l.out.drain()
	out.Persists, out.Log = o.Persists, o.Messages
	l.prompt.sends(l.now, o.Messages)
	out.Apply = uint64(l.core.Chosen()) > l.state.Applied()
	out.Level = l.levels.required(l.state.Level())
	if l.epoch.ready {
		out.Ready, out.Epoch = l.epoch.tenure, l.epoch.number()
	}
	return out
}

// freezes reports whether a checkpoint is due at this tick.
func (r *LogRound) freezes() bool {
	l := r.log
	c := &l.checkpoints
	if l.changes.holdsCheckpoints(l.now) && c.mayWait(l.state.TableBytes()) {
		return false
	}
	if c.due(l.state.TableBytes(), l.members.space, l.ticks) {
		return true
	}
	return c.frozen == nil && l.state.Applied() > c.done && l.compareSlots.rests() && l.members.space == SpaceEnough
}

// checkpointed handles the end of a checkpoint.
func (r *LogRound) checkpointed() error {
	l := r.log
	compare := l.checkpoints.compare
	if err := l.checkpoints.end(l.state, l.core); err != nil {
		return err
	}
	l.digests.add(Digest{Slot: l.checkpoints.done, Sum: r.digest}, compare)
	return nil
}
