package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Clocks are the elapsed clocks of nodes built by BuildTestClock: each errs as its file says.
type Clocks struct {
	dir  string
	sets map[int]ClockError
}

// ClockError is how a clock errs: its rate, and the sum of all its jumps so far.
type ClockError struct {
	RatePPM int64
	Jumped  time.Duration
}

// NewClocks keeps the clocks' files in dir; all are right at first. Env is for Config.Env.
func NewClocks(dir string, nodes int) (*Clocks, error) {
	c := &Clocks{dir: dir, sets: map[int]ClockError{}}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for id := 1; id <= nodes; id++ {
		if err := c.write(id, ClockError{}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Env returns the environment of node id.
func (c *Clocks) Env(id int) []string { return []string{"TENURE_TESTCLOCK=" + c.file(id)} }

func (c *Clocks) file(id int) string { return filepath.Join(c.dir, fmt.Sprintf("clock%d", id)) }

func (c *Clocks) write(id int, e ClockError) error {
	c.sets[id] = e
	next := c.file(id) + ".next"
	if err := os.WriteFile(next, fmt.Appendf(nil, "%d %d\n", e.RatePPM, int64(e.Jumped)), 0o644); err != nil {
		return err
	}
	return os.Rename(next, c.file(id))
}

// Get returns how node id's clock errs now.
func (c *Clocks) Get(id int) ClockError { return c.sets[id] }

// Set makes node id's clock err like that, and waits until the node has seen it.
func (c *Clocks) Set(ctx context.Context, id int, e ClockError) error {
	if err := c.write(id, e); err != nil {
		return err
	}
	for {
		if r, err := c.Read(id); err == nil && r.Error == e {
			return nil
		}
		if !Pause(ctx, lookEvery/2) {
			return fmt.Errorf("node %d did not take up its clock's error: %w", id, ctx.Err())
		}
	}
}

// ClockReading is a node's last report about its clock: two readings of the same instant.
type ClockReading struct {
	Error       ClockError
	True, Shown time.Duration
}

// Read returns node id's newest reading, a few milliseconds old.
func (c *Clocks) Read(id int) (ClockReading, error) {
	text, err := os.ReadFile(c.file(id) + ".seen")
	if err != nil {
		return ClockReading{}, err
	}
	var rate, jumped, real, shown int64
	if _, err := fmt.Sscan(string(text), &rate, &jumped, &real, &shown); err != nil {
		return ClockReading{}, err
	}
	return ClockReading{ClockError{rate, time.Duration(jumped)}, time.Duration(real), time.Duration(shown)}, nil
}
