package server

import (
	"path/filepath"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/lease/named"
	"tenure/server/replica/effect"
	"tenure/server/replica/leases"
)

// N4: an Accept that needs a longer bucket waits for the disk. The run after a crash is silent for the bucket on disk,
// not for the longest lease allowed.
func TestN4TheNextRunIsSilentForTheBucket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	n := newNodeOn(t, dir)
	n.cfg.LeaseTime = time.Second
	part := startRun(t, n, true).leases
	driver := leases.NewRound(part)
	accept := named.Request{Kind: named.Accept, Name: named.Name{1}, Counter: 1, Acquisition: named.Acquisition{1}, Token: named.FirstToken(1) + 1, Duration: 90 * time.Second}
	peer := ballot.Incarnation{Node: 2, Restart: 1, Nonce: 1}
	var b named.Bucket // that the part has asked for
	round := func(e leases.Event) {
		for r := driver; ; {
			switch r.Next() {
			case effect.Take:
				r.Add(&e)
			case effect.Clock:
				r.Read(n.clock.Now(), false)
			case effect.Bucket:
				b = r.Bucket()
			case effect.Done:
				return
			}
		}
	}
	ask := func() (accepted bool) {
		round(leases.Event{Batch: &leases.Batch{Requests: []named.Request{accept}}, From: peer})
		_, accepted = part.Live(driver.Now(), accept.Name)
		return accepted
	}
	round(leases.Event{Era: 1})
	if ask() {
		t.Fatal("a lease of 90 s was accepted with the bucket of an idle node")
	}
	if b == (named.Bucket{}) || ask() {
		t.Fatalf("asks for %+v, or has accepted before it is durable", b)
	}
	if err := n.store.SetBucket(b.Length, b.Quarantine); err != nil {
		t.Fatal(err)
	}
	round(leases.Event{Bucket: b})
	if !ask() {
		t.Fatal("the lease was not accepted")
	}
	n.store.Close()

	n = newNodeOn(t, dir)
	n.cfg.LeaseTime = time.Second
	part = startRun(t, n, false).leases
	left := part.Status(n.clock.Now()).QuarantineLeft
	if left > b.Quarantine || left < b.Quarantine-10*time.Second || b.Length != 131072*time.Millisecond {
		t.Errorf("silent for another %v, the bucket is %+v", left, b)
	}
}
