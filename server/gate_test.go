package server

import (
	"sync"
	"testing"
	"time"
)

func TestGateKeepsBothHalves(t *testing.T) {
	g := newGate()
	if !g.setLease(3, time.Second) || g.setLease(3, 2*time.Second) {
		t.Fatal("a change of tenure is told once, a renewal not at all")
	}
	if !g.setReady(3, 40) || g.setReady(3, 40) || !g.setReady(3, 41) {
		t.Fatal("a change of readiness is told once")
	}
	g.setLease(4, 3*time.Second)
	if p := g.load(); p.Tenure != 4 || p.Ready != 3 || p.Epoch != 41 || p.Deadline != 3*time.Second {
		t.Fatalf("%+v", p)
	}
	if !g.setReady(0, 0) || g.setReady(0, 0) {
		t.Fatal("the end of readiness is told once")
	}
}

// The two writers never undo each other, and a reader sees one whole value.
func TestGateUnderTwoWriters(t *testing.T) {
	g := newGate()
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range uint64(1000) {
			g.setLease(i+1, time.Duration(i+1))
		}
	})
	wg.Go(func() {
		for i := range uint64(1000) {
			g.setReady(i+1, 2*(i+1))
		}
	})
	for range 1000 {
		if p := g.load(); uint64(p.Deadline) != p.Tenure || p.Epoch != 2*p.Ready {
			t.Errorf("torn: %+v", p)
		}
	}
	wg.Wait()
	if p := g.load(); p.Tenure != 1000 || p.Ready != 1000 {
		t.Fatalf("%+v", p)
	}
}
