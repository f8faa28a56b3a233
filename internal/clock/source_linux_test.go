package clock

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// machine is a kernel's clocks. Each reading takes a microsecond; before the n-th one, events[n] happens.
type machine struct {
	raw, suspended time.Duration
	slew           time.Duration // how far the slewed clocks are from the raw one
	reads          int
	events         map[int]func(*machine)
	lateBoots      int // so many boot time readings come 5 ms after the reading before them
}

func (m *machine) gettime(clock int32) int64 {
	if f := m.events[m.reads]; f != nil {
		f(m)
	}
	if clock == unix.CLOCK_BOOTTIME && m.lateBoots > 0 {
		m.lateBoots--
		m.raw += 5 * time.Millisecond
	}
	m.reads++
	m.raw += time.Microsecond
	switch clock {
	case unix.CLOCK_MONOTONIC_RAW:
		return int64(m.raw)
	case unix.CLOCK_MONOTONIC:
		return int64(m.raw + m.slew)
	case unix.CLOCK_BOOTTIME:
		return int64(m.raw + m.slew + m.suspended)
	}
	panic("unknown clock")
}

func (m *machine) elapsed() time.Duration { return m.raw + m.suspended }

func deschedule(d time.Duration) func(*machine) { return func(m *machine) { m.raw += d } }
func suspend(d time.Duration) func(*machine)    { return func(m *machine) { m.suspended += d } }
func slew(d time.Duration) func(*machine)       { return func(m *machine) { m.slew += d } }

// Every reading must be the elapsed time of some instant of its call, whatever comes between the kernel's clocks.
func TestReadingLiesWithinItsCall(t *testing.T) {
	events := map[string]func(*machine){
		"deschedule 3 ms": deschedule(3 * time.Millisecond), "deschedule 2 s": deschedule(2 * time.Second),
		"suspend 2 ms": suspend(2 * time.Millisecond), "suspend 1 h": suspend(time.Hour),
		"slew":                   slew(5 * time.Millisecond),
		"suspend and deschedule": func(m *machine) { suspend(time.Minute)(m); deschedule(time.Minute)(m) },
	}
	for name, event := range events {
		for before := range 12 {
			m := &machine{raw: time.Hour, suspended: time.Minute}
			c := &Clock{}
			c.source.gettime = m.gettime
			c.source.init()
			m.events = map[int]func(*machine){m.reads + before: event}
			for range 6 {
				from := m.elapsed()
				got := c.Now()
				if slack := suspendStep; int64(got) < int64(from)-slack || int64(got) > int64(m.elapsed())+slack {
					t.Errorf("%s before reading %d: read %v, the call ran from %v to %v", name, before, got, from,
						m.elapsed())
				}
			}
		}
	}
}

func TestOffsetIsKeptUnlessSuspended(t *testing.T) {
	m := &machine{raw: time.Hour, suspended: time.Minute}
	c := &Clock{}
	c.source.gettime = m.gettime
	c.source.init()
	kept := c.source.suspended.Load()
	m.lateBoots = 3 * bracketTries / 4
	for m.lateBoots > 0 {
		c.Now()
	}
	if got := c.source.suspended.Load(); got != kept {
		t.Fatalf("offset moved by %v with no suspend", time.Duration(got-kept))
	}
	suspend(time.Second)(m)
	c.Now()
	if got := time.Duration(c.source.suspended.Load() - kept); got < 999*time.Millisecond ||
		got > 1001*time.Millisecond {
		t.Fatalf("offset moved by %v at a suspend of 1 s", got)
	}
}
