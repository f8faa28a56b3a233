package replica

import (
	"errors"
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/multipaxos"
)

// Config is fixed for a run. Every queue and table of the log part has its bound here.
type Config struct {
	Self          ballot.Incarnation
	Core          multipaxos.Config
	MaxBatchBytes int // commands gathered into one slot
	MaxInFlight   int // slots of commands proposed and not yet applied
	// GatherFor is how long the newest slot in flight must have been out before the next one follows, unless a whole
	// batch waits; it is looked at when something happens, at a tick at the latest. On a fast network one batch is then
	// out at a time, and larger; on a slow one MaxInFlight are. Zero: they follow at once.
	GatherFor          time.Duration
	MaxQueued          int // writes that wait to be proposed or forwarded
	MaxQueuedBytes     int
	MaxForwarded       int           // writes forwarded and not yet answered
	MaxReads           int           // reads that wait for a read point
	ApplyBytes         int           // values applied in one go
	CheckpointBytes    int64         // changes not yet checkpointed that start a checkpoint, up to largestCheckpoint times as many if the state database is large: the bound of memory
	CheckpointLogBytes int64         // values applied since the last checkpoint that start one: the bound of the log
	MasterTimeout      time.Duration // without heartbeats for so long, the master is unknown
	Progress           ProgressConfig
}

// Validate tells which bound is missing.
func (c Config) Validate() error {
	for _, b := range []struct {
		name  string
		value int64
	}{
		{"MaxBatchBytes", int64(c.MaxBatchBytes)}, {"MaxInFlight", int64(c.MaxInFlight)},
		{"MaxQueued", int64(c.MaxQueued)}, {"MaxQueuedBytes", int64(c.MaxQueuedBytes)},
		{"MaxForwarded", int64(c.MaxForwarded)}, {"MaxReads", int64(c.MaxReads)},
		{"ApplyBytes", int64(c.ApplyBytes)}, {"CheckpointBytes", c.CheckpointBytes}, {"CheckpointLogBytes", c.CheckpointLogBytes},
		{"MasterTimeout", int64(c.MasterTimeout)}, {"Progress.Bound", int64(c.Progress.Bound)},
		{"Progress.StandBack", int64(c.Progress.StandBack)}, {"Progress.MaxStandBack", int64(c.Progress.MaxStandBack)},
	} {
		if b.value <= 0 {
			return fmt.Errorf("replica: %s must be positive", b.name)
		}
	}
	return nil
}

// Output is what there is to do after a step; LogRound hands it out piece by piece.
type Output struct {
	Persists   []multipaxos.Persist
	Log        []multipaxos.Message
	Messages   []Message
	Replies    []Reply
	Checkpoint *kv.Frozen // hand to storage; report with Event.Checkpointed
	// Ready is to be published: the tenure for which the log is ready (0: none), and its epoch.
	Ready, Epoch uint64
	// Apply reports that chosen entries wait to be applied.
	Apply bool
	// Health is to be sent to all other voters on their lease connections; nil: nothing.
	Health *Health
	// LetGo, if it has a tenure, tells the lease part to release that tenure (P6): this part has stopped acting for it.
	LetGo LetGo
	// Proposed are the batches that went into slots since the last output. For metrics only.
	Proposed []Proposal
}

// Proposal is a batch of writes that was put into a slot.
type Proposal struct {
	Slot          multipaxos.Slot
	Writes, Bytes int
	Waited        time.Duration // the longest of its writes, in the queue
}

// Chosen is the last slot that this node knows to be chosen, with all below it.
func (l *Log) Chosen() multipaxos.Slot { return l.core.Chosen() }

// Applied is the last slot in the state.
func (l *Log) Applied() multipaxos.Slot { return multipaxos.Slot(l.state.Applied()) }

// Log is the log part. One goroutine steps it. The state is changed only by apply, freeze and checkpointed, so that
// the shell can guard exactly these against readers.
//
// In which order its methods are called is LogRound's to say, and nobody else's.
type Log struct {
	cfg   Config
	core  *multipaxos.Core
	state *kv.State

	tenure  uint64          // holding of the lease for which this part leads; 0: it does not
	letGo   LetGo           // of a tenure that this part leads for no more, though the lease may still show it
	ballot  ballot.Ballot   // of the epoch that is being opened or open
	barrier multipaxos.Slot // slot of its barrier entry; 0: not proposed
	ready   bool
	// stopping takes up no new work as master: the node hands over, or it is leaving.
	stopping, leaving bool

	master masterView
	peers  []peerView
	space  Space // of the own disk
	// relieved is the tick before which this node does not hand over again for want of space.
	relieved   uint64
	queue      queue
	flights    []flight      // proposed, in slot order
	left       time.Duration // when the newest of them was proposed
	landed     []flight      // applied, to be acknowledged by finish
	away       forwards
	reads      readers
	checkpoint checkpointing
	timers     timers
	pace       progress
	now        time.Duration // the newest clock reading
	ticks      uint64
	out        Output
	answers    []openAnswers // of out.Messages
}

// NewLog is the log part of a run; core and state belong to it from here on.
func NewLog(cfg Config, core *multipaxos.Core, state *kv.State) (*Log, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &Log{cfg: cfg, core: core, state: state, timers: timers{byName: map[timerName]*timer{}}, pace: newProgress(cfg.Progress)}
	state.Observe(kv.Observer{Timed: l.timers.learn})
	state.Timed(l.timers.learn)
	for _, id := range cfg.Core.Voters.IDs() {
		if id != cfg.Self.Node {
			l.peers = append(l.peers, peerView{node: id})
			l.pace.voices = append(l.pace.voices, voice{node: id})
		}
	}
	// Checkpointed first: the chosen mark on disk may be behind the state database, which proves that its slots were
	// chosen.
	l.checkpoint.done = state.Applied()
	core.Checkpointed(multipaxos.Slot(l.checkpoint.done))
	core.Applied(multipaxos.Slot(l.checkpoint.done))
	return l, nil
}

// step takes one message of the log. An error is damage: the node must stop.
func (l *Log) step(m multipaxos.Message) error {
	l.sign(m.From)
	return l.core.Step(m)
}

// persisted reports that every Persist up to seq is durable.
func (l *Log) persisted(seq uint64) error {
	l.pace.durable(seq)
	return l.core.Persisted(seq)
}

// tick drives retransmission, heartbeats, time-outs, timers and checkpointing; call it every TickEvery.
func (l *Log) tick(now time.Duration, p Published) error {
	l.ticks++
	l.now = now
	l.tickProgress(now, p)
	l.expire(now)
	if l.ticks%heartbeatTicks == 0 {
		l.sendHeartbeats(now, p.Deadline)
	}
	if l.ready && !l.stopping && p.Held(now) && p.Tenure == l.tenure {
		l.timers.ask(l, now)
	}
	return l.core.Tick()
}

// TickEvery is the distance between two Ticks, and heartbeatTicks the number of them between two heartbeats.
const (
	TickEvery      = 20 * time.Millisecond
	heartbeatTicks = 5
)

// advance follows the lease and moves every waiting request on as far as it can go now.
func (l *Log) advance(now time.Duration, p Published) error {
	l.now = now
	l.follow(now, p)
	if l.tenure != 0 && l.barrier == 0 && l.core.Phase() == multipaxos.Leading {
		l.open()
	}
	switch {
	case l.ready && l.stopping: // what waits goes to the next master
	case l.ready:
		l.propose(now)
		l.readLocally()
	case l.tenure == 0:
		l.forward(now)
		l.askReadPoint()
	}
	l.collect()
	return nil
}

// follow implements M1 and M5: a tenure of the lease that is new to this part opens a new epoch and forgets any
// earlier recovery; the end of the tenure ends leading; a higher promise ends readiness and starts recovery again
// under a new ballot within the same tenure. Continuity is decided by the tenure's number, which is stored data.
func (l *Log) follow(now time.Duration, p Published) {
	held := p.Held(now) && p.Tenure != l.letGo.Tenure
	if l.tenure == 0 && l.stopping {
		return
	}
	switch {
	case l.tenure != 0 && (!held || p.Tenure != l.tenure):
		l.stepDown(now)
		if held {
			l.lead(p.Tenure)
		}
	case l.tenure == 0 && held:
		l.lead(p.Tenure)
	case l.tenure != 0 && l.core.Preempted():
		l.closeEpoch(now)
		l.lead(p.Tenure)
	}
}

// lead starts recovery (M2, M3) for this tenure.
func (l *Log) lead(tenure uint64) {
	l.core.Lead()
	l.tenure, l.ballot, l.barrier, l.ready = tenure, l.core.Ballot(), 0, false
}

// stepDown ends leading: the lease was lost or is about to be given up.
func (l *Log) stepDown(now time.Duration) {
	l.closeEpoch(now)
	l.core.Retire()
	l.tenure = 0
	l.sendHeartbeats(now, 0)
}

// closeEpoch ends readiness. What was proposed and not acknowledged stays unknown; what waits to be proposed waits on.
func (l *Log) closeEpoch(now time.Duration) {
	l.ready, l.barrier = false, 0
	if l.master.node == l.cfg.Self.Node {
		l.master = masterView{}
	}
	for _, f := range l.flights {
		for _, w := range f.writes {
			l.answer(w, Unknown, LeaseLost, kv.Result{})
		}
	}
	l.flights = nil
	l.timers.recall(&l.queue)
	l.timers.out = 0 // those in flight are lost: the next ready master asks again
	l.queue.sendBack(l)
	l.reads.refuseRemote(l)
}

// open proposes the entry that opens this epoch (M4).
func (l *Log) open() {
	if slot, ok := l.core.Propose(openValue(l.core.Ballot())); ok {
		l.barrier, l.ballot = slot, l.core.Ballot()
	}
}

// opened implements M4: the epoch is ready once its barrier entry, and with it every slot below, is chosen and
// applied. The slot of the barrier entry is the mastership's fencing token.
func (l *Log) opened(e multipaxos.Entry) {
	if l.tenure == 0 || l.ready || l.barrier == 0 || e.Slot != l.barrier || e.Ballot != l.ballot {
		return
	}
	l.ready = true
}

// Stop begins the end of the node: it takes no requests any more, and refuses those that are not proposed.
func (l *Log) Stop() {
	l.stopping, l.leaving = true, true
	l.timers.recall(&l.queue)
	l.queue.refuseAll(l, Stopping)
}

// HandOver begins a hand-over after which the node stays: it proposes nothing any more, and keeps the requests of its
// own clients for the next master. Resume ends it.
func (l *Log) HandOver() {
	l.stopping = true
	l.timers.recall(&l.queue)
	l.queue.sendBack(l)
}

// Resume lets the node take up work as master again, unless it was told meanwhile to stop for good.
func (l *Log) Resume() { l.stopping = l.leaving }

// Idle tells whether no write is in flight here, or waits for the master's answer.
func (l *Log) Idle() bool { return len(l.flights) == 0 && len(l.landed) == 0 && l.away.live == 0 }

// StepDown ends mastership before the lease is released; unanswered writes become unknown.
func (l *Log) StepDown(now time.Duration) {
	if l.tenure != 0 {
		l.stepDown(now)
	}
}

// take drains the output.
func (l *Log) take() Output {
	l.collect()
	out := l.out
	l.out, l.answers = Output{}, l.answers[:0]
	out.Apply = uint64(l.core.Chosen()) > l.state.Applied()
	if l.ready {
		out.Ready, out.Epoch = l.tenure, uint64(l.barrier)
	}
	return out
}

// collect moves the core's output into the part's.
func (l *Log) collect() {
	o := l.core.Take()
	for i := range o.Persists {
		l.pace.disk.begin(l.now, o.Persists[i].Seq)
	}
	l.out.Persists = append(l.out.Persists, o.Persists...)
	l.out.Log = append(l.out.Log, o.Messages...)
}

// ErrValue is damage in a chosen value.
var ErrValue = errors.New("replica: a chosen value is malformed")
