package runner

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/internal/clock"
	"tenure/server/members"
	"tenure/server/replica"
	"tenure/server/replica/effect"
	"tenure/server/replica/elector"
	"tenure/server/wire"
)

// Guardian is where an Elector shows the ballots that would have to be released if the process died now.
type Guardian interface {
	// Note makes counters those of the ballots that are shown. It must not wait, and does not keep counters.
	Note(counters []uint64)
}

// ElectorConfig is what an Elector is made of. All fields are required.
type ElectorConfig struct {
	Part       *elector.Part
	LeaseTime  time.Duration
	Members    *Members
	Clock      *clock.Clock
	Mastership *Mastership
	Health     *Health
	Send       Sender
	Guardian   Guardian
	Lifecycle  *Lifecycle
	Distrusted func() bool // reports whether the clock cannot be trusted
	Registry   prometheus.Registerer
	Logger     zerolog.Logger
}

// Elector runs the election of the master. It shares only Mastership and Health with the log, and has a thread of its
// own. So neither the disk nor a flood of requests delays a lease message.
type Elector struct {
	cfg         ElectorConfig
	in          chan electorEvent
	metrics     *electorMetrics
	tenures     tenureChanges
	silentUntil time.Duration            // reading of the clock at which the acceptor answers again
	inForce     chan replica.PartInForce // one for each membership that enforce was given; capacity 1
	// inForceAtStart is what the acceptor went by when the run began.
	inForceAtStart replica.PartInForce
	cleared        atomic.Uint64 // records cleared here because a guardian has said that their owner is dead

	// Of the loop:
	driver *elector.Round
	done   chan struct{} // of the round's Release, or nil
	timer  *time.Timer
	due    time.Duration // when the timer fires
	gap    *gapMeter
	noted  []uint64 // what the guardian is shown
}

// electorEvent is one input of the elector.
type electorEvent struct {
	elector.Event
	done chan struct{} // of a Release: closed when the messages have been handed to the transport
}

// NewElector returns an Elector before its first round. It registers its figures.
func NewElector(c ElectorConfig) *Elector {
	e := &Elector{cfg: c, in: make(chan electorEvent, elector.MaxEvents), metrics: newElectorMetrics(c.Registry),
		driver: elector.NewRound(c.Part), inForce: make(chan replica.PartInForce, 1)}
	now := c.Clock.Now()
	e.inForceAtStart.Number, e.inForceAtStart.Excluding = c.Part.InForce(now)
	e.silentUntil = now + c.Part.QuarantineLeft(now)
	e.registerGauges()
	return e
}

// Loops returns the goroutine of the elector.
func (e *Elector) Loops() []Loop { return []Loop{e.run} }

// Changes returns the last beginnings and ends of this node's tenures, oldest first.
func (e *Elector) Changes() []api.TenureChange { return e.tenures.list() }

// QuarantineLeft returns how long the acceptor, which was restarted, stays silent from now on.
func (e *Elector) QuarantineLeft(now time.Duration) time.Duration {
	return max(0, e.silentUntil-now)
}

// Cleared returns how many live lease records were cleared here in this run because a guardian has said that their
// owner is dead.
func (e *Elector) Cleared() uint64 { return e.cleared.Load() }

// LetGo has the lease given up because its holder gets nowhere. A full inbox drops it: the log says it again.
func (e *Elector) LetGo(g elector.LetGo) {
	select {
	case e.in <- electorEvent{Event: elector.Event{LetGo: g}}:
	default:
	}
}

// releaseWait bounds how long a Release waits for space in the inbox.
const releaseWait = time.Second

// Release gives the lease up, and returns when the messages are with the transport, or the run ends. If there is
// no space for so long, the lease ends by itself.
func (e *Elector) Release(r elector.Release) {
	in := electorEvent{done: make(chan struct{}), Event: elector.Event{Release: &r}}
	select {
	case e.in <- in:
		select {
		case <-in.done:
		case <-e.cfg.Lifecycle.Ended():
		}
	case <-e.cfg.Lifecycle.Ended():
	case <-time.After(releaseWait):
	}
}

// enforce puts a membership in force, and waits for space in the inbox. What holds then comes from e.inForce.
func (e *Elector) enforce(m members.InForce, stop <-chan struct{}) {
	select {
	case e.in <- electorEvent{Event: elector.Event{Membership: &m}}:
	case <-stop:
	}
}

// put adds an event that a peer has brought, and drops it if too many wait.
func (e *Elector) put(in elector.Event) {
	select {
	case e.in <- electorEvent{Event: in}:
	default:
		e.metrics.dropped.Inc()
	}
}

// run steps the elector until stop is closed.
func (e *Elector) run(stop <-chan struct{}) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	e.timer, e.gap, e.due = time.NewTimer(0), newGapMeter(), e.cfg.Clock.Now()
	defer e.timer.Stop()
	defer e.gap.close()
	for {
		next := e.driver.Next()
		if next == effect.Take {
			select {
			case <-stop:
				return nil
			case in := <-e.in:
				e.driver.Add(in.Event)
				e.done = in.done
			case <-e.timer.C:
			}
			continue
		}
		e.do(next)
	}
}

// do carries out an effect.
func (e *Elector) do(next effect.Effect) {
	now := e.driver.Now()
	switch next {
	case effect.Clock:
		e.readClock()
	case effect.Lease:
		e.noteEvent()
		e.publish(now, e.driver.State())
	case effect.Tenures:
		e.noteTenures(now)
	case effect.InForce:
		number, excluding := e.driver.InForce()
		e.inForce <- replica.PartInForce{Number: number, Excluding: excluding}
	case effect.Note:
		e.noteBallots(now)
	case effect.Send:
		e.send()
	case effect.Timer:
		e.due = e.driver.Wake()
		e.timer.Reset(e.due - now)
	case effect.Done:
		if e.done != nil {
			close(e.done)
			e.done = nil
		}
	}
}

// readClock reads the clock, and then what the rest of the node shows.
func (e *Elector) readClock() {
	now := e.cfg.Clock.Now()
	gap := e.gap.read(now)
	e.noteLateness(now-e.due, gap)
	e.cfg.Part.Gap(gap)
	s := e.cfg.Health.Standing()
	e.driver.Read(now, elector.View{Distrusted: e.cfg.Distrusted(), Barred: s.Barred, Ticked: s.At,
		Able: e.cfg.Health.able})
}

// publish shows the others whether the lease is held, and until when.
func (e *Elector) publish(now time.Duration, s elector.State) {
	before := e.cfg.Mastership.Load()
	e.cfg.Mastership.SetLease(s)
	if s.Tenure != 0 && s.Deadline != before.Deadline {
		e.metrics.renewal.Observe((now - (s.Deadline - s.Duration)).Seconds())
	}
}

// noteBallots shows the guardian the ballots of what is about to leave.
func (e *Elector) noteBallots(now time.Duration) {
	e.noted = e.cfg.Part.AppendNoted(e.noted[:0], now)
	e.cfg.Guardian.Note(e.noted)
}

// send sends what a round has to send: before a Release the hint who should try first.
func (e *Elector) send() {
	if r := e.driver.Event().Release; r != nil && r.Next != 0 {
		body := wire.EncodeNudge(wire.Nudge{Node: uint64(r.Next)})
		for _, p := range e.cfg.Members.Others() {
			e.cfg.Send.SendLease(p, body)
		}
	}
	for _, m := range e.driver.Messages() {
		e.cfg.Send.SendLease(m.To, wire.EncodeLease(&m))
	}
}
