package backend

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/server/replica/elector"
	"tenure/server/runner"
)

// "take the snapshot → then read the clock once" (log.md, Three ways to read): a reader that is held up while it takes
// the data answers nothing if the lease ran out meanwhile.
func TestReadUnderLeaseReadsTheClockAfterTheData(t *testing.T) {
	m, c := runner.NewMastership(), clock.New()
	b := NewKV(KVConfig{Clock: c, Mastership: m})
	m.SetLease(elector.State{Tenure: 1, Deadline: c.Now() + time.Hour})
	m.SetReady(1, 7)
	ticket, ok := m.Load().Begin()
	if !ok {
		t.Fatal("no ticket")
	}
	if _, done, err := b.takeUnderLease(ticket, func() (uint64, error) { return 7, nil }); !done || err != nil {
		t.Fatalf("a read within the lease: %v, %v", done, err)
	}
	_, done, err := b.takeUnderLease(ticket, func() (uint64, error) {
		deadline := c.Now() + time.Millisecond
		m.SetLease(elector.State{Tenure: 1, Deadline: deadline})
		for c.Now() <= deadline {
			time.Sleep(100 * time.Microsecond)
		}
		return 7, nil
	})
	if done || err != nil {
		t.Fatalf("answered after the lease had run out while the data was taken: %v", err)
	}
}

// A node that has heard from no master yet counts from its own start, not from that of its machine.
func TestContactWithAMaster(t *testing.T) {
	b := NewKV(KVConfig{Self: 1, Started: 4 * time.Hour})
	now := 4*time.Hour + time.Second
	for _, c := range []struct {
		node   ballot.NodeID // the master
		heard  time.Duration
		ago    time.Duration
		master bool
	}{
		{1, 0, 0, true},
		{0, 0, time.Second, false},
		{2, now - time.Millisecond, time.Millisecond, true},
		{0, now - time.Minute, time.Minute, false},
	} {
		var v runner.LogView
		v.Master, v.Heard = c.node, c.heard
		if ago, master := b.contact(&v, now); ago != c.ago || master != c.master {
			t.Errorf("master %d, heard at %v: %v, %t", c.node, c.heard, ago, master)
		}
	}
}
