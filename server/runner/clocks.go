package runner

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/server/metrics"
	"tenure/server/replica"
	"tenure/server/wire"
)

// stampEvery is how often clocks are compared.
const stampEvery = 500 * time.Millisecond

// ClocksConfig is what a Clocks is made of. All fields are required.
type ClocksConfig struct {
	DriftPPM int64 // that is allowed
	// Master and User are for how long a lease of each class may live that this node has granted.
	Master, User time.Duration
	Clock        *clock.Clock
	Members      *Members
	Send         Sender
	Registry     prometheus.Registerer
	Logger       zerolog.Logger
}

// Clocks compares this node's clock with those of the others, and keeps this node out of leases while its clock cannot be
// trusted: lease messages are dropped, the elector starts no attempt and lets go of a lease that is held.
type Clocks struct {
	cfg ClocksConfig

	mu    sync.Mutex // held for moments
	watch *replica.ClockWatch

	// Why this node takes no part in the master lease, and in leases of any class; "" if it does.
	master, user atomic.Pointer[string]
}

// NewClocks returns a Clocks. It registers its figures.
func NewClocks(c ClocksConfig) *Clocks {
	k := &Clocks{cfg: c, watch: replica.NewClockWatch(c.DriftPPM)}
	k.master.Store(new(string))
	k.user.Store(new(string))
	metrics.Flag(c.Registry, "clock_trusted",
		"0 while this node takes no part in leases, because its clock runs at another rate than the others' or the machine "+
			"was suspended.", nil, func() bool { return k.Problem() == "" })
	metrics.Gauge(c.Registry, "clock_peers_differing", "Voters whose clocks run at another rate than this node's, by more "+
		"than half of the allowed drift.", nil, func() float64 { return float64(k.differing()) })
	return k
}

// Problem returns why this node takes no part in named leases, "" if it does. It takes part in the master lease no later
// than that: see Distrusted.
func (c *Clocks) Problem() string { return *c.user.Load() }

// Distrusted reports whether this node takes no part in the master lease.
func (c *Clocks) Distrusted() bool { return *c.master.Load() != "" }

func (c *Clocks) differing() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.cfg.Members.Load()
	return len(c.watch.Differing(m.Voters()))
}

// Loops returns the goroutine of the comparison.
func (c *Clocks) Loops() []Loop { return []Loop{c.run} }

func (c *Clocks) run(stop <-chan struct{}) error {
	ticker := time.NewTicker(stampEvery)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return nil
		case <-ticker.C:
			c.look()
			for _, p := range c.cfg.Members.Others() {
				c.mu.Lock()
				s := c.watch.Stamp(c.cfg.Clock.Now(), p)
				c.mu.Unlock()
				c.cfg.Send.SendLease(p, wire.EncodeClock(s))
			}
		}
	}
}

// look decides whether the clock can be trusted, and says so when that changes.
func (c *Clocks) look() {
	now := c.cfg.Clock.Now()
	m := c.cfg.Members.Load()
	c.mu.Lock()
	c.watch.Step(now, c.cfg.Clock.Suspended(), m.Voters())
	master, why := c.watch.Out(now, c.cfg.Master), c.watch.Out(now, c.cfg.User)
	c.mu.Unlock()
	c.master.Store(&master)
	if before := *c.user.Swap(&why); before == "" && why != "" {
		c.cfg.Logger.Warn().Str("why", why).Dur("at_least", c.cfg.User).
			Msg("this node takes no part in leases: its clock cannot be trusted")
	} else if before != "" && why == "" {
		c.cfg.Logger.Info().Msg("this node takes part in leases again")
	}
}

// Hear takes the stamp of a peer.
func (c *Clocks) Hear(from ballot.NodeID, s replica.ClockStamp) {
	now := c.cfg.Clock.Now()
	c.mu.Lock()
	c.watch.Hear(now, from, s)
	c.mu.Unlock()
}

// connected forgets what was known of a peer: its process may be another one.
func (c *Clocks) connected(peer ballot.NodeID) {
	c.mu.Lock()
	c.watch.Forget(peer)
	c.mu.Unlock()
}
