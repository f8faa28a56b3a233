package elector

import (
	"testing"
	"time"
)

// While renewals are quick an owner asks for a shorter lease. One that is not gets the whole lease time, and so do the
// next ones for a while: for long after one that was slow or failed, and after a lease that was not renewed in time.
func TestQuickRenewalsAskForLess(t *testing.T) {
	const whole, brief, long = 500 * time.Millisecond, 300 * time.Millisecond, quickRenewals + afterSlow
	var p pace
	now := time.Minute
	renew := func(late time.Duration, won bool) time.Duration {
		now += whole
		d := p.duration(whole, true, now)
		p.ended(now+late, whole, won)
		return d
	}
	quicken := func(why string, renewals int) {
		t.Helper()
		for i := range renewals {
			if d := renew(10*time.Millisecond, true); d != whole {
				t.Fatalf("after %s: renewal %d asks for %v", why, i, d)
			}
		}
		if d := renew(0, true); d != brief {
			t.Errorf("after %s and %d quick renewals: %v", why, renewals, d)
		}
	}
	fresh := func() {
		if d := p.duration(whole, false, now); d != whole {
			t.Errorf("a fresh attempt asks for %v", d)
		}
		p.ended(now+time.Hour, whole, true)
	}
	quicken("nothing", quickRenewals)
	renew(11*time.Millisecond, true)
	quicken("one that was not quick", quickRenewals)
	renew(51*time.Millisecond, true)
	quicken("a slow one", long)
	renew(0, false)
	quicken("one that failed", long)
	fresh()
	quicken("a lease that was not renewed", long)
	p.released()
	fresh()
	quicken("a lease that was released", quickRenewals)
	renew(51*time.Millisecond, true)
	p.released()
	fresh()
	quicken("a slow one in the tenure before", long)
}

// The owner of an undisturbed cluster comes to brief leases and keeps its tenure; a lost round costs it nothing.
func TestAnOwnerWithBriefLeases(t *testing.T) {
	w := newElectors(t, 3)
	w.run("an owner", 3*testLease, func() bool { return w.owner() != 0 })
	id := w.owner()
	e := w.nodes[id]
	tenure := e.State(w.now).Tenure
	brief := testLease / 5 * briefFifths
	w.run("brief leases", 40*testLease, func() bool { return e.State(w.now).Duration == brief })
	if left := e.State(w.now).Deadline - w.now; left > brief {
		w.run("the end of the longer one", testLease, func() bool { return e.State(w.now).Deadline-w.now <= brief })
	}
	for i := range 40 {
		at := w.now + brief/4
		w.run("time", 2*brief, func() bool { return w.now >= at })
		if s := e.State(w.now); s.Tenure != tenure || s.Duration != brief || s.Deadline-w.now > brief {
			t.Fatalf("moment %d: %+v at %v", i, s, w.now)
		}
	}
	w.cut[id] = true
	until := w.now + brief/3
	w.run("a cut", brief, func() bool { return w.now >= until })
	w.cut[id] = false
	w.run("the whole lease time again", testLease, func() bool { return e.State(w.now).Duration == testLease })
	if s := e.State(w.now); s.Tenure != tenure {
		t.Errorf("another tenure: %+v", s)
	}
}
