package server

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/api"
)

// Status shows the newest changes, oldest first, and no more than fit.
func TestShownTenureChangesAreBounded(t *testing.T) {
	var c tenureChanges
	if l := c.list(); l == nil || len(l) != 0 {
		t.Errorf("%v", l)
	}
	for i := range 3 * maxShownChanges {
		before := c.list()
		c.add(api.TenureChange{HeldMS: int64(i)})
		if l := c.list(); l[len(l)-1].HeldMS != int64(i) || len(before) > 0 && before[len(before)-1].HeldMS != int64(i-1) {
			t.Fatalf("after %d: %v, the list of before: %v", i, l, before)
		}
	}
	if l := c.list(); len(l) != maxShownChanges || l[0].HeldMS != 2*maxShownChanges {
		t.Errorf("%v", l)
	}
}

// The meter tells processor time that was used from a clock that went on alone.
func TestGapMeter(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	m := newGapMeter()
	defer m.close()
	began := time.Now()
	m.read(0)
	for time.Since(began) < 50*time.Millisecond {
	}
	used := m.read(time.Since(began))
	if used.Processor <= 0 || used.Jumped > time.Millisecond {
		t.Errorf("%+v after computing", used)
	}
	if g := m.read(time.Since(began) + time.Hour); g.Jumped < 59*time.Minute {
		t.Errorf("%+v after a jump of an hour", g)
	}
}

// A hand-over has its cause in the status of the node that gave the lease up and of the one that won it, and in
// metrics. On a machine that is busy elsewhere another node than the named one may win.
func TestStatusAndMetricsTellWhyTheMasterChanged(t *testing.T) {
	hosts := startCluster(t, 3)
	old := master(t, hosts)
	from := old.status(t).Node
	to := from%3 + 1
	if code, text, _ := old.call("POST", "/v1/master/transfer", fmt.Sprintf(`{"Node":%d}`, to)); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	has := func(h *host, ok func(api.TenureChange) bool) bool {
		return slices.ContainsFunc(h.status(t).Lease.Changes, ok)
	}
	var next *host
	old.until(t, "the hand-over in the status of the winner", func() bool {
		for _, h := range hosts {
			if h != old && has(h, func(c api.TenureChange) bool {
				return c.Event == api.TenureWon && c.Cause == "released" && c.Before == from
			}) {
				next = h
			}
		}
		return next != nil
	})
	if !has(old, func(c api.TenureChange) bool {
		return c.Event == api.TenureLost && c.Cause == "handed_over" && strings.HasSuffix(c.Detail, fmt.Sprintf("to node %d", to))
	}) {
		t.Errorf("the loser says %+v", old.status(t).Lease.Changes)
	}
	for h, want := range map[*host]string{old: `tenure_mastership_ends_total{cause="handed_over"} 1`, next: `tenure_mastership_starts_total{after="released"} 1`} {
		if _, text, _ := h.call("GET", "/metrics", ""); !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}
