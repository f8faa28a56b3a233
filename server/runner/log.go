package runner

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/internal/ident"
	"tenure/server/replica"
	"tenure/server/replica/elector"
	"tenure/server/slow"
	"tenure/storage"
)

// Sender is the way to the peers. A body is sent or dropped; sending never waits.
type Sender interface {
	SendLease(to ballot.NodeID, body []byte) bool
	SendLog(to ballot.NodeID, body []byte) bool
	SendNamed(to ballot.NodeID, body []byte) bool
}

// LogConfig is what a Log is made of. All fields are required.
type LogConfig struct {
	Part       *replica.Log
	State      *State
	Store      *storage.Store
	Data       string // the data directory, as people know it
	FirstID    uint64 // of requests; another one in each run
	Members    *Members
	Clock      *clock.Clock
	Mastership *Mastership
	Health     *Health
	Disk       *Disk
	Send       Sender
	LetGo      func(elector.LetGo) // has the elector give the lease up; must not wait
	// RequireLevel ends the connections to nodes that do not know a feature level, and refuses new ones; must not wait.
	RequireLevel func(level uint64)
	// Dismiss ends the connections to nodes that no membership from that number on lists, and has them told of their
	// removal; must not wait.
	Dismiss func(number uint64)
	// Roster is told what the members' record says, at the start and whenever it is another one; must not wait.
	Roster    func(ident.Roster)
	Lifecycle *Lifecycle
	Registry  prometheus.Registerer
	Logger    zerolog.Logger
}

// Log runs the log part, on the goroutine chosen by the inbox, one at a time. A background goroutine ticks, and takes
// over from goroutines that have run enough rounds.
type Log struct {
	cfg          LogConfig
	inbox        *inbox[logEvent]
	persister    *persister
	checkpointer *checkpointer
	metrics      *logMetrics
	view         atomic.Pointer[LogView]
	nextID       atomic.Uint64
	ticking      atomic.Bool            // a tick is in the inbox
	nudged       chan struct{}          // asks for a round; capacity 1
	onward       chan struct{}          // the turn to step, handed on; capacity 1
	members      func(ident.Membership) // has a membership put in force; set before the first round
	hedge        *time.Timer            // asks for a round when a voter's answer is late
	hedging      atomic.Bool            // it runs
	relief       chan Relief            // unbuffered: who is not listening is told again with the next tick

	// Of the round under way:
	driver  *replica.LogRound
	events  []logEvent
	noted   int             // of events, so many have been noted
	healths []replica.Event // what peers say of their health
	tick    bool            // there is a tick among events

	waiting    map[uint64]waiter // for replies, by request
	stages     *stages
	complainAt time.Duration // how long the disk may be silent until the next line in the log
}

// logEvent is one input of the log part on its way to a round.
type logEvent struct {
	replica.Event
	reply chan answer // of a Write or a Read; has capacity 1
}

// answer is a reply, and where the time of a write went.
type answer struct {
	replica.Reply
	took slow.Write
}

// waiter is where the reply to a request goes.
type waiter struct {
	reply chan answer
	at    time.Duration
	write bool
}

// NewLog returns a Log before its first round. It registers its figures.
func NewLog(c LogConfig) *Log {
	l := &Log{
		cfg: c, inbox: newInbox[logEvent](), metrics: newLogMetrics(c.Registry),
		nudged: make(chan struct{}, 1), onward: make(chan struct{}, 1), relief: make(chan Relief),
		hedge:  newStoppedTimer(),
		driver: replica.NewLogRound(c.Part), waiting: map[uint64]waiter{}, stages: newStages(c.Registry, c.Members),
		complainAt: DiskComplaint,
	}
	l.persister = newPersister(c.Store, c.Disk, l.inbox, l.nudged, l.metrics.commitSeconds)
	l.checkpointer = newCheckpointer(c.Store, c.Disk, l.inbox, l.metrics.checkpointSeconds)
	l.nextID.Store(c.FirstID)
	l.view.Store(&LogView{Status: replica.Status{Level: replica.LevelStatus{Cluster: c.Part.Position().Level}}})
	l.inbox.drain = l.drain
	l.registerGauges()
	return l
}

// Loops returns the goroutines of the log.
func (l *Log) Loops() []Loop { return []Loop{l.run, l.persister.run, l.checkpointer.run} }

// run ticks until stop is closed.
func (l *Log) run(stop <-chan struct{}) error {
	ticker := time.NewTicker(replica.TickEvery)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			l.inbox.end(l.onward)
			return nil
		case <-ticker.C:
			if !l.ticking.Swap(true) {
				l.inbox.put(logEvent{Event: replica.Event{Tick: true}})
			}
		case <-l.cfg.Mastership.changed:
			l.inbox.put(logEvent{})
		case <-l.nudged:
			l.inbox.put(logEvent{})
		case <-l.hedge.C:
			l.hedging.Store(false)
			l.inbox.put(logEvent{})
		case <-l.onward:
			for l.turn() {
			}
		}
	}
}

// newStoppedTimer returns a timer that does not run yet.
func newStoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// armHedge sees to a round at the time at which the log part wants one. A timer that runs is left alone, since times
// only get later: the round that it brings arms it anew.
func (l *Log) armHedge() {
	if at := l.cfg.Part.HedgeAt(); at > 0 && !l.hedging.Swap(true) {
		l.hedge.Reset(max(0, at-l.driver.Now()))
	}
}

// guestRounds is how many rounds a goroutine steps that has something else to do: the first for its own event, the
// second for what came meanwhile.
const guestRounds = 2

// drain is a turn of whoever put an event. It does a few rounds and leaves the rest to the loop's own goroutine.
func (l *Log) drain() {
	defer endOnPanic()
	for range guestRounds {
		if !l.turn() {
			return
		}
	}
	l.inbox.handOn(l.onward)
}

// turn is one round, and reports whether the turn goes on. A failure ends the run, and nobody steps any more.
func (l *Log) turn() bool {
	if err := l.round(); err != nil {
		l.cfg.Lifecycle.Fail(l.marked(err))
		l.inbox.close()
	}
	return !l.inbox.release()
}

// marked makes a durable mark if err is a replica.Differs, so that the node cannot start on its data directory again.
func (l *Log) marked(err error) error {
	var d *replica.Differs
	if !errors.As(err, &d) {
		return err
	}
	return errors.Join(err, l.cfg.Store.MarkDiffers(d.Error()))
}

// endOnPanic ends the process with a panic of the log part. The goroutine may belong to net/http, which recovers from
// panics of requests: the node would go on as a master without a running log.
func endOnPanic() {
	p := recover()
	if p == nil {
		return
	}
	stack := debug.Stack()
	go panic(fmt.Sprintf("%v\n\n%s", p, stack))
	select {}
}
