package runner

import (
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/clock"
	"tenure/server/replica/elector"
	"tenure/server/wire"
)

// DrainConfig is what a Drain is made of. All fields are required.
type DrainConfig struct {
	LeaseTime  time.Duration
	Clock      *clock.Clock
	Members    *Members
	Mastership *Mastership
	Elector    *Elector
	Logger     zerolog.Logger
}

// Drain keeps mastership away from this node before maintenance. It is policy: no promise of the lease or the log rests
// on it, and a node that is alone stays master. It lasts until it is taken back or the run ends. A drain first begins,
// and changes only State. So of two voters that are drained at the same time, at least one sees the other.
type Drain struct {
	// HandOver gives mastership to another node if this one is the master. Set before the loops begin.
	HandOver func() error

	cfg   DrainConfig
	state atomic.Uint32 // a wire.DrainState
}

// NewDrain returns a Drain that is off.
func NewDrain(c DrainConfig) *Drain { return &Drain{cfg: c} }

// State returns how far the drain is.
func (d *Drain) State() wire.DrainState { return wire.DrainState(d.state.Load()) }

// On reports whether this node is drained.
func (d *Drain) On() bool { return d.State() == wire.DrainOn }

// Begin begins a drain. It reports false, and does nothing, unless the drain was off.
func (d *Drain) Begin() bool { return d.change(wire.DrainOff, wire.DrainBegun) }

// Complete has the drain that was begun take effect, and hands over. It reports false if that drain was ended. An error
// says that this node is the master yet.
func (d *Drain) Complete() (bool, error) {
	if !d.change(wire.DrainBegun, wire.DrainOn) {
		return false, nil
	}
	d.cfg.Logger.Info().Msg("this node is drained: it takes no new clients and does not become master")
	return true, d.Repeat()
}

// Repeat hands over again at a node that is drained, unless it is alone. An error says that this node is the master
// yet.
func (d *Drain) Repeat() error {
	if d.alone() {
		return nil
	}
	d.standBack()
	return d.HandOver()
}

// End ends the drain, or takes back one that was begun.
func (d *Drain) End() {
	if was := d.state.Swap(uint32(wire.DrainOff)); wire.DrainState(was) == wire.DrainOn {
		d.cfg.Logger.Info().Msg("the drain of this node has ended")
	}
}

func (d *Drain) change(from, to wire.DrainState) bool {
	return d.state.CompareAndSwap(uint32(from), uint32(to))
}

// Loops returns the goroutine of the drain.
func (d *Drain) Loops() []Loop { return []Loop{d.run} }

// run lets the others try for the lease first, again and again, and hands over what came here all the same.
func (d *Drain) run(stop <-chan struct{}) error {
	ticker := time.NewTicker(max(d.cfg.LeaseTime/2, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-ticker.C:
		}
		if !d.On() || d.alone() {
			continue
		}
		d.standBack()
		if d.cfg.Mastership.Serves(d.cfg.Clock.Now()) {
			_ = d.HandOver() // it is said again soon
		}
	}
}

// alone reports whether there is no other voter.
func (d *Drain) alone() bool { return len(d.cfg.Members.Load().Members) < 2 }

func (d *Drain) standBack() { d.cfg.Elector.put(elector.Event{StandBack: d.cfg.LeaseTime}) }
