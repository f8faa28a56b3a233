package replica

import (
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/replica/elector"
)

// A hand-over takes no new work, waits for what is in flight, but not for long, and releases the lease only when the
// node does not act as master any more. A node that stays then takes up work again.
func TestHandoverStepsDownBeforeItReleases(t *testing.T) {
	for _, why := range []elector.Cause{elector.CauseHandedOver, elector.CauseStopping} {
		c := newCluster(t, 3, 1)
		m := c.awaitMaster()
		for _, n := range c.nodes {
			n.frozen = n != m
		}
		w := set("k", "v")
		m.input(Event{Write: &Write{ID: 1, Command: kv.EncodeCommand(&w), Until: c.now + time.Minute}})
		c.run(time.Millisecond)
		if m.log.Idle() {
			t.Fatal("nothing is in flight")
		}
		g, began := Handover{Next: 2, Why: why}, c.now
		var release *elector.Release
		step := func() {
			m.input(Event{Call: func(now time.Duration) { release = g.Step(m.log, now) }})
			c.stepLog(m)
		}
		for ; release == nil && c.now < began+time.Second; c.now += HandoverEvery {
			if step(); release == nil && (!m.log.stopping || !m.log.epoch.ready) {
				t.Fatalf("%v after it began: stopping %t, ready %t", c.now-began, m.log.stopping, m.log.epoch.ready)
			}
		}
		if took := c.now - HandoverEvery - began; took != finishFor {
			t.Errorf("waited %v for what is in flight", took)
		}
		want := elector.Release{StandBack: standBackLeases * testLease, Why: why, Next: 2}
		if m.log.epoch.ready || *release != want {
			t.Errorf("ready %t, releases %+v, want %+v", m.log.epoch.ready, *release, want)
		}
		if m.log.Resume(); m.log.stopping == g.Stays() {
			t.Errorf("%v: takes no work afterwards: %t", why, m.log.stopping)
		}
	}
}
