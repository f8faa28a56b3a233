package explore

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const ms = time.Millisecond

// features are what a configuration may have beside the base. A configuration is named by its features, joined with
// "+".
var features = []struct {
	name, says string
	with       func(c *Config)
}{
	{"crash-restart", "one restart of a proposer, any number of each acceptor's, silence longer than D_P",
		func(c *Config) {
			c.AcceptorRestarts, c.ProposerRestarts, c.M, c.Draws = true, 1, 2*ms, 2
		}},
	{"guardian", "a proposer that is restarted leaves Releases for what its guardian has noted (P7)", func(c *Config) {
		c.Guardian, c.ProposerRestarts = true, 1
	}},
	{"renewal", "attempts while a lease is held", func(c *Config) { c.Renew = true }},
	{"retry", "attempts given up in the middle, and repeated requests", func(c *Config) { c.Retry = true }},
	{"release", "releases at any time", func(c *Config) { c.Release = true }},
	{"redelivery", "a reply arrives at once or is lost, and its request may come again",
		func(c *Config) { c.LoseReplies = true }},
	{"drift", "proposers' clocks at rates 2 and 3, acceptors' at 3 and 2, with the ρ that allows just this",
		func(c *Config) {
			c.DriftPPM = 200_000
			c.ProposerRates = []time.Duration{2 * ms, 3 * ms, 2 * ms}
			c.AcceptorRates = []time.Duration{3 * ms, 2 * ms, 3 * ms}
		}},
	{"quarantine-equals-D_P", "acceptors restart any number of times, and D_P = M = D_Q",
		func(c *Config) { c.AcceptorRestarts = true }},
	{"three-acceptors", "three acceptors for two", func(c *Config) { c.Acceptors = 3 }},
	{"three-proposers", "three proposers for two, one ballot each", func(c *Config) { c.Proposers, c.Ballots = 3, 1 }},
	{"two-durations", "attempts of two lengths", func(c *Config) { c.M = 2 * ms }},
	{"epochs", "a tenure that goes on has had no other owner in it (M1)", func(c *Config) { c.Epochs = true }},
	{"asynchrony", "replies too travel, and arrive any number of times, however late",
		func(c *Config) { c.Async = true }},
	{"at-most-once", "each copy of a message arrives once or never", func(c *Config) { c.Once = true }},
	{"one-ballot", "one ballot for each run of a proposer", func(c *Config) { c.Ballots = 1 }},
	{"smaller-M", "acceptors also restart under a smaller M", func(c *Config) {
		c.AcceptorRestarts, c.M, c.NewM = true, 2*ms, 1*ms
	}},
	{"prompt", "an attempt is abandoned in the tick in which its deadline passes", func(c *Config) { c.Prompt = true }},
	{"short-leases", "D_P of one tick", func(*Config) {}},
}

// parseLease returns the configuration of the lease with this name.
func parseLease(name string) (Config, error) {
	c := Config{Name: name, Proposers: 2, Acceptors: 2, Ballots: 2, M: 2 * ms}
	var names []string
	if name != "base" {
		names = strings.Split(name, "+")
	}
	for _, n := range names {
		if !slices.ContainsFunc(features, func(f struct {
			name, says string
			with       func(c *Config)
		}) bool {
			return f.name == n
		}) {
			return Config{}, fmt.Errorf("%w: no configuration or feature is called %q; -list shows them", ErrConfig, n)
		}
	}
	has := func(n string) bool { return slices.Contains(names, n) }
	for _, f := range features {
		if has(f.name) {
			f.with(&c)
		}
	}
	c.settleTimes(has)
	return c, c.Validate()
}

// settleTimes chooses the D_P for the other choices.
func (c *Config) settleTimes(has func(string) bool) {
	unit := ms
	if has("drift") {
		unit = 2 * ms // a tick of the slowest clock
		c.M *= 2
		c.NewM *= 2
		c.ProposerRates, c.AcceptorRates = c.ProposerRates[:c.Proposers], c.AcceptorRates[:c.Acceptors]
	}
	c.Durations = []time.Duration{c.M}
	switch {
	case has("two-durations") || has("smaller-M"):
		c.Durations = []time.Duration{2 * unit, unit}
	case has("crash-restart") && !has("quarantine-equals-D_P"), has("short-leases"):
		c.Durations = []time.Duration{unit}
	}
}
