package runner

import (
	"sync"
	"testing"
	"time"

	"tenure/server/replica/elector"
)

func TestMastershipKeepsBothHalves(t *testing.T) {
	m := NewMastership()
	if !m.setLease(elector.State{Tenure: 3, Deadline: time.Second}) ||
		m.setLease(elector.State{Tenure: 3, Deadline: 2 * time.Second}) {
		t.Fatal("a change of tenure is told once, a renewal not at all")
	}
	if !m.SetReady(3, 40) || m.SetReady(3, 40) || !m.SetReady(3, 41) {
		t.Fatal("a change of readiness is told once")
	}
	m.setLease(elector.State{Tenure: 4, Deadline: 3 * time.Second})
	if p := m.Load(); p.Tenure != 4 || p.Ready != 3 || p.Epoch != 41 || p.Deadline != 3*time.Second {
		t.Fatalf("%+v", p)
	}
	if !m.SetReady(0, 0) || m.SetReady(0, 0) {
		t.Fatal("the end of readiness is told once")
	}
}

// The two writers never undo each other, and a reader sees one whole value.
func TestMastershipUnderTwoWriters(t *testing.T) {
	m := NewMastership()
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range uint64(1000) {
			m.setLease(elector.State{Tenure: i + 1, Deadline: time.Duration(i + 1)})
		}
	})
	wg.Go(func() {
		for i := range uint64(1000) {
			m.SetReady(i+1, 2*(i+1))
		}
	})
	for range 1000 {
		if p := m.Load(); uint64(p.Deadline) != p.Tenure || p.Epoch != 2*p.Ready {
			t.Errorf("torn: %+v", p)
		}
	}
	wg.Wait()
	if p := m.Load(); p.Tenure != 1000 || p.Ready != 1000 {
		t.Fatalf("%+v", p)
	}
}
