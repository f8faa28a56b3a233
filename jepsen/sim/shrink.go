package sim

import (
	"context"
	"fmt"
	"strings"
)

// Command returns what to run to see r again, with its full trace.
func (r Result) Command() string {
	var b strings.Builder
	fmt.Fprintf(&b, "go run ./jepsen sim --seed %d", r.Config.Seed)
	if r.Config.Members {
		b.WriteString(" --members")
	}
	if r.Config.Without != 0 {
		fmt.Fprintf(&b, " --without %v", r.Config.Without)
	}
	if r.Config.Clients != 0 {
		fmt.Fprintf(&b, " --clients %d", r.Config.Clients)
	}
	if r.Config.Steps != 0 {
		fmt.Fprintf(&b, " --steps %d", r.Config.Steps)
	}
	return b.String()
}

// maxShrinkRuns bounds how often a failing run is played again to make it smaller.
const maxShrinkRuns = 200

// shrinker makes a failing run smaller while it still fails the same check.
type shrinker struct {
	ctx  context.Context
	best Result
	runs int
}

// Shrink plays a failing run again with less: without classes of faults, with fewer clients, with fewer steps. The
// returned run fails the same check as r, with the least that was found until ctx ended.
func Shrink(ctx context.Context, r Result) Result {
	s := &shrinker{ctx: ctx, best: r}
	for before := -1; before != s.runs && s.runs < maxShrinkRuns; {
		best := s.best.Config
		s.shorten()
		s.calm()
		s.hush()
		before = s.runs
		if s.best.Config == best {
			break
		}
	}
	return s.best
}

// try plays c and keeps it if it fails as before.
func (s *shrinker) try(c Config) bool {
	if s.runs >= maxShrinkRuns || s.ctx.Err() != nil {
		return false
	}
	s.runs++
	c.Trace = nil
	r := Run(c)
	if r.Failure == nil || r.Failure.Check != s.best.Failure.Check {
		return false
	}
	s.best = r
	return true
}

// shorten ends the faults earlier: right after the failure, then ever earlier before it.
func (s *shrinker) shorten() {
	c := s.best.Config
	if c.Steps == 0 {
		c.Steps = DefaultSteps
	}
	if after := s.best.Failure.Step + 1; after < c.Steps {
		c.Steps = after
		s.try(c)
	}
	for cut := c.Steps / 2; cut > c.Steps/64 && cut > 10; {
		c := s.best.Config
		if c.Steps == 0 {
			c.Steps = DefaultSteps
		}
		if c.Steps -= cut; c.Steps <= 0 || !s.try(c) {
			cut /= 2
		}
	}
}

// calm switches off one class of faults after the other.
func (s *shrinker) calm() {
	for i := range faultNames {
		if f := Fault(1) << i; s.best.Faults&f != 0 {
			c := s.best.Config
			c.Without |= f
			s.try(c)
		}
	}
}

// hush leaves clients out.
func (s *shrinker) hush() {
	n := s.best.Config.Clients
	if n == 0 {
		n = draw(s.best.Config).clients.count
	}
	for most := 1; most < n; most++ {
		c := s.best.Config
		c.Clients = most
		if s.try(c) {
			return
		}
	}
}
