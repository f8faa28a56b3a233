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
	"tenure/server/replica/clocks"
	"tenure/server/wire"
)

// ClocksConfig configures a Clocks. All fields are required.
type ClocksConfig struct {
	DriftPPM int64 // allowed drift, in parts per million
	// Master and User bound the life of leases of each class that this node grants.
	Master, User time.Duration
	Clock        *clock.Clock
	Members      *Members
	Send         Sender
	Registry     prometheus.Registerer
	Logger       zerolog.Logger
}

// Clocks compares this node's clock with those of the others. While the clock cannot be trusted, this node takes no
// part in leases: see elector.View and leases.Round. Its exported methods are safe for concurrent use.
type Clocks struct {
	cfg ClocksConfig

	mu    sync.Mutex // held briefly
	watch *clocks.Watch

	alarmed bool // clocks differed when look last looked; of the goroutine of run

	// Why this node takes no part in the master lease, and in leases of any class; "" if it does.
	master, user atomic.Pointer[string]
}

// NewClocks returns a Clocks and registers its metrics.
func NewClocks(c ClocksConfig) *Clocks {
	k := &Clocks{cfg: c, watch: clocks.NewWatch(c.DriftPPM)}
	k.master.Store(new(string))
	k.user.Store(new(string))
	metrics.Flag(c.Registry, "clock_trusted",
		"0 while this node takes no part in leases, because its clock runs at another rate than the others' or the "+
			"machine was suspended.", nil, func() bool { return k.Problem() == "" })
	metrics.Gauge(c.Registry, "clock_peers_differing", "Voters whose clocks run at another rate than this node's, by "+
		"more than half of the allowed drift.", nil, func() float64 { return float64(k.differing()) })
	return k
}

// Problem returns the reason why this node takes no part in named leases, or "" if it does. It returns to the master
// lease no later than to named leases; see Distrusted.
func (c *Clocks) Problem() string { return *c.user.Load() }

// Distrusted reports whether this node is excluded from the master lease because of its clock.
func (c *Clocks) Distrusted() bool { return *c.master.Load() != "" }

func (c *Clocks) differing() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.cfg.Members.Load()
	return len(c.watch.Differing(m.Voters()))
}

// Loops returns the function to run as a goroutine.
func (c *Clocks) Loops() []Loop { return []Loop{c.run} }

func (c *Clocks) run(stop <-chan struct{}) error {
	ticker := time.NewTicker(clocks.StampEvery)
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

// look decides whether the clock can be trusted, and logs changes.
func (c *Clocks) look() {
	now := c.cfg.Clock.Now()
	m := c.cfg.Members.Load()
	c.mu.Lock()
	c.watch.Step(now, c.cfg.Clock.Suspended(), m.Voters())
	master, why := c.watch.Out(now, c.cfg.Master), c.watch.Out(now, c.cfg.User)
	differs := clocks.DescribeRates(c.watch.Differing(m.Voters()))
	c.mu.Unlock()
	c.alarm(differs, why)
	c.master.Store(&master)
	if before := *c.user.Swap(&why); before == "" && why != "" {
		c.cfg.Logger.Warn().Str("why", why).Dur("at_least", c.cfg.User).
			Msg("this node takes no part in leases: its clock cannot be trusted")
	} else if before != "" && why == "" {
		c.cfg.Logger.Info().Msg("this node takes part in leases again")
	}
}

// alarm logs that this node's clock begins to differ from other clocks while this node goes on. Either the others are
// outvoted, or no majority agrees.
func (c *Clocks) alarm(differs, why string) {
	if differs != "" && why == "" && !c.alarmed {
		c.cfg.Logger.Warn().Str("differs_from", differs).
			Msg("clocks of other nodes run at another rate than this node's, by more than half of the allowed drift")
	}
	c.alarmed = differs != ""
}

// Hear handles the stamp of a peer.
func (c *Clocks) Hear(from ballot.NodeID, s clocks.Stamp) {
	now := c.cfg.Clock.Now()
	c.mu.Lock()
	c.watch.Hear(now, from, s)
	c.mu.Unlock()
}

// connected discards what is known of a peer's clock: its process may have been replaced.
func (c *Clocks) connected(peer ballot.NodeID) {
	c.mu.Lock()
	c.watch.Forget(peer)
	c.mu.Unlock()
}
