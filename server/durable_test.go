package server

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/lease/named"
	"tenure/server/runner"
	"tenure/storage"
)

// newNodeOn returns a node over the store in dir, formed by itself, before its run starts.
func newNodeOn(t *testing.T, dir string) *node {
	t.Helper()
	store, err := storage.Open(dir, storage.Options{LogInitialBytes: 64 << 10, MapBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if !store.Identity().Formed {
		m := ident.Membership{Number: 1, Members: []ident.Member{{Node: 1, Store: store.Identity().Store}}}
		if err := store.SetNode(1); err != nil {
			t.Fatal(err)
		}
		if err := store.Found(ident.ClusterID{1}, m); err != nil {
			t.Fatal(err)
		}
	}
	n := newNode(Config{Node: 1, LeaseTime: time.Minute, MaxLeaseTime: time.Hour, ClockDriftPPM: 10_000, Logger: zerolog.Nop()}, nil)
	n.store = store
	return n
}

func startRun(t *testing.T, n *node, fresh bool) *parts {
	t.Helper()
	p, err := n.startRun(fresh)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A4: only the run of the bootstrap answers at once. The start record is durable before a run does anything: the next
// run has a higher restart counter, and stays silent for all that this one may have accepted.
func TestA4EveryRunIsAnotherAndKeepsSilence(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var before ballot.Incarnation
	for run := range uint64(3) {
		n := newNodeOn(t, dir)
		if got := n.store.StartRecord().Restart; got != run {
			t.Fatalf("run %d finds the start record of run %d", run+1, got)
		}
		p := startRun(t, n, run == 0)
		record := n.store.StartRecord()
		if record.Restart != n.self.Restart || record.Quarantine.Master < n.cfg.LeaseTime || record.Quarantine.User < record.Bucket ||
			record.Bucket != named.LeastBucket(n.cfg.timing()) || record.Longest <= n.cfg.MaxLeaseTime {
			t.Errorf("run %d as %v left the start record %+v", run+1, n.self, record)
		}
		if n.self.Restart != run+1 || n.self.Nonce == before.Nonce {
			t.Errorf("run %d is %v after %v", run+1, n.self, before)
		}
		before = n.self
		now := n.clock.Now()
		left := p.elector.QuarantineLeft(now)
		if (run == 0 && left != 0) || (run > 0 && left < n.cfg.LeaseTime-10*time.Second) {
			t.Errorf("run %d stays silent for %v", run+1, left)
		}
		n.store.Close()
	}
}

// A4: the second write waits for the whole silence, counted from a reading taken after the data directory was locked. A
// process that waited long to start, or opened a large store, has not served any of it by then.
func TestA4TheRecordIsLoweredOnlyAfterTheSilence(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first := newNodeOn(t, dir)
	startRun(t, first, true)
	owed := first.store.StartRecord().Quarantine
	first.store.Close()

	n := newNodeOn(t, dir)
	n.cfg.LeaseTime, n.cfg.MaxLeaseTime = time.Second, time.Second
	n.started = n.clock.Now() - 3*time.Hour
	p := startRun(t, n, false)
	look := func() {
		t.Helper()
		n.registry = prometheus.NewRegistry()
		life := runner.NewLifecycle(func() {})
		life.Go(n.newDisk(p).Loops()[:1])
		life.End() // it looks once
		life.Wait()
		if err := life.Err(); err != nil {
			t.Fatal(err)
		}
	}
	look()
	if got := n.store.StartRecord().Quarantine; got != owed {
		t.Errorf("before the silence has passed the record is %+v, while the runs before owe %+v", got, owed)
	}
	p.began -= 3 * time.Hour
	look()
	want := storage.Quarantine{Master: p.quarantine.Own, User: owed.User} // N4 lowers the other
	if got := n.store.StartRecord().Quarantine; got != want {
		t.Errorf("after the silence the record is %+v; this run owes %+v", got, want)
	}
}
