package explore

import (
	"fmt"
	"slices"
	"time"
)

// RivalConfig is a bounded world of one of the two leases that the product does not use: Flease, or the naive majority
// vote. Any request that was ever sent may arrive any number of times, or never. A reply arrives at once, may be lost,
// or travels like a request. Time has an end here, since Flease's messages name points of it.
type RivalConfig struct {
	Name      string
	Core      string // coreFlease or coreMajority
	Proposers int    // 1 to 3; there are three acceptors
	Draws     int    // attempts of all proposers together
	Ticks     int    // how long the world lasts, in milliseconds
	Lease     time.Duration
	Skew      time.Duration // Flease: ε
	// Ahead is how far each process's clock is ahead of time, proposers first; none if it is nil.
	Ahead []time.Duration
	// Shift is by how much each process's clock moves against time, once, whenever it likes, in the order of Ahead;
	// none if it is nil. One that falls back stands still until time has come up with it.
	Shift []time.Duration
	// Restarts is how many restarts of acceptors there are, ProposerRestarts of proposers, each in all.
	Restarts, ProposerRestarts int
	Retry                      bool // attempts are given up in the middle, too
	LoseReplies                bool // a reply arrives at once or is lost; without it, at once
	Async                      bool // replies travel, and may come again
	// Blocked has the search stop at the first state in which nobody can own until a vote has run out.
	Blocked bool
}

const (
	coreFlease   = "flease"
	coreMajority = "majority"
)

// Validate returns an error that wraps ErrConfig if the world cannot be built.
func (c RivalConfig) Validate() error {
	if c.Core != coreFlease && c.Core != coreMajority || c.Proposers < 1 || c.Proposers > maxProposers || c.Draws < 1 ||
		c.Ticks < 1 || c.Ticks > 60 ||
		c.Lease <= 0 || len(c.Ahead) != 0 && len(c.Ahead) != c.Proposers+maxAcceptors ||
		len(c.Shift) != 0 && len(c.Shift) != c.Proposers+maxAcceptors || c.Restarts < 0 || c.Restarts > 3 ||
		c.ProposerRestarts < 0 || c.ProposerRestarts > 3 {
		return refused(c.Name, "%+v", c)
	}
	return nil
}

// ahead returns how far the clock of a process, numbered as in Ahead, is ahead of time at the least.
func (c *RivalConfig) ahead(process int) time.Duration {
	if len(c.Ahead) == 0 {
		return 0
	}
	return c.Ahead[process]
}

// shift returns by how much the clock of a process may move.
func (c *RivalConfig) shift(process int) time.Duration {
	if len(c.Shift) == 0 {
		return 0
	}
	return c.Shift[process]
}

// rivalConfigs are the configurations of the other leases by name.
var rivalConfigs = []RivalConfig{
	tinyFlease("flease", func(c *RivalConfig) {}),
	tinyFlease("flease-retry", func(c *RivalConfig) { c.Retry, c.Draws = true, 2 }),
	tinyFlease("flease-lost-replies", func(c *RivalConfig) { c.LoseReplies, c.Draws = true, 2 }),
	tinyFlease("flease-async", func(c *RivalConfig) { c.Async, c.Draws, c.Ticks = true, 2, 3 }),
	tinyFlease("flease-shift", func(c *RivalConfig) { c.Draws, c.Shift = 2, []time.Duration{ms, -ms, 0, 0, 0} }),
	tinyFlease("flease-restart", func(c *RivalConfig) { c.Restarts, c.Draws, c.Ticks = 1, 2, 6 }),
	tinyFlease("flease-2-restarts", func(c *RivalConfig) { c.Restarts, c.Draws, c.Ticks = 2, 2, 8 }),
	tinyFlease("flease-restart-shift", func(c *RivalConfig) {
		c.Restarts, c.Draws, c.Ticks, c.Shift = 1, 2, 7, []time.Duration{0, -ms, ms, 0, 0}
	}),
	tinyFlease("flease-proposer-restart", func(c *RivalConfig) { c.ProposerRestarts, c.Draws, c.Ticks = 1, 2, 8 }),
	tinyFlease("flease-beyond-skew", func(c *RivalConfig) { c.Ahead[1] = 2 * ms }),
	tinyMajority("majority", func(c *RivalConfig) {}),
	tinyMajority("majority-lost-replies", func(c *RivalConfig) { c.LoseReplies = true }),
	tinyMajority("majority-async", func(c *RivalConfig) { c.Async, c.Draws, c.Ticks = true, 2, 3 }),
	tinyMajority("majority-restart", func(c *RivalConfig) { c.Restarts, c.ProposerRestarts, c.Draws = 2, 1, 2 }),
	tinyMajority("majority-3-proposers", func(c *RivalConfig) { c.Proposers = 3 }),
	tinyMajority("majority-blocked", func(c *RivalConfig) { c.Proposers, c.Blocked = 3, true }),
}

// tinyFlease returns a configuration with two proposers whose clocks are apart by ε, three attempts, and leases of two
// ticks.
func tinyFlease(name string, with func(*RivalConfig)) RivalConfig {
	c := RivalConfig{Name: name, Core: coreFlease, Proposers: 2, Draws: 3, Ticks: 5, Lease: 2 * ms, Skew: ms,
		Ahead: []time.Duration{0, ms, 0, 0, 0}}
	with(&c)
	return c
}

// tinyMajority returns a configuration with two proposers, three attempts, and votes of two ticks.
func tinyMajority(name string, with func(*RivalConfig)) RivalConfig {
	c := RivalConfig{Name: name, Core: coreMajority, Proposers: 2, Draws: 3, Ticks: 5, Lease: 2 * ms, Retry: true}
	with(&c)
	return c
}

// shown are those that are there to show a violation: they are no part of the table.
var shown = []string{"flease-beyond-skew", "majority-blocked"}

func (c RivalConfig) says() string {
	s := fmt.Sprintf("proposers %d, attempts %d, %d ticks", c.Proposers, c.Draws, c.Ticks)
	if c.Restarts+c.ProposerRestarts > 0 {
		s += fmt.Sprintf(", restarts %d and of proposers %d", c.Restarts, c.ProposerRestarts)
	}
	if len(c.Shift) > 0 {
		s += ", clocks change places within ε"
	}
	if c.Async {
		s += ", replies travel"
	}
	if slices.Contains(shown, c.Name) {
		s += "; shows what goes wrong"
	}
	return s
}

func (c RivalConfig) label() string { return c.Name }

func (c RivalConfig) open() (model, narrator) {
	l := newRivalModel(c)
	return l, &rivalTeller{l}
}
