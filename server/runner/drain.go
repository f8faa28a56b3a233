package runner

import (
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/clock"
	"tenure/server/replica"
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

// Drain keeps mastership away from this node before maintenance. It is policy: nothing rests on it, and a node that is
// alone stays master. It lasts until it is taken back or the run ends.
type Drain struct {
	// HandOver gives mastership to another node if this one is the master. Set before the loops begin.
	HandOver func() error

	cfg DrainConfig
	on  atomic.Bool
}

// NewDrain returns a Drain that is off.
func NewDrain(c DrainConfig) *Drain { return &Drain{cfg: c} }

// On reports whether this node is drained.
func (d *Drain) On() bool { return d.on.Load() }

// Set begins the drain and hands over, or ends it. An error says that this node is the master yet.
func (d *Drain) Set(off bool) error {
	if d.on.Swap(!off) == off {
		d.cfg.Logger.Info().Bool("drained", !off).Msg("a drain has begun or ended")
	}
	if off {
		return nil
	}
	d.standBack()
	return d.HandOver()
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
		if !d.On() || len(d.cfg.Members.Load().Members) < 2 {
			continue
		}
		d.standBack()
		if d.cfg.Mastership.Serves(d.cfg.Clock.Now()) {
			_ = d.HandOver() // it is said again soon
		}
	}
}

func (d *Drain) standBack() { d.cfg.Elector.put(replica.ElectorEvent{StandBack: d.cfg.LeaseTime}) }
