package runner

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/clock"
	"tenure/server/replica/clocks"
)

// A peer that connects again may be another process, whose clock may run at another rate.
func TestAPeersClockIsForgottenWhenItConnects(t *testing.T) {
	c := NewClocks(ClocksConfig{DriftPPM: 10_000, Clock: clock.New(), Members: testMembers(1, 2, 3),
		Registry: prometheus.NewRegistry(), Logger: zerolog.Nop()})
	other := clocks.NewWatch(10_000)
	for now := time.Second; now < 5*time.Minute; now += clocks.StampEvery {
		fast := now + now/20
		c.watch.Hear(now, 2, other.Stamp(fast, 1))
		other.Hear(fast, 1, c.watch.Stamp(now, 2))
	}
	if n := c.differing(); n != 1 {
		t.Fatalf("%d clocks differ, want that of node 2", n)
	}
	c.connected(3)
	if n := c.differing(); n != 1 {
		t.Errorf("%d clocks differ after another peer has connected", n)
	}
	c.connected(2)
	if n := c.differing(); n != 0 {
		t.Errorf("%d clocks differ after node 2 has connected", n)
	}
}
