package server

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/lease/named"
	"tenure/multipaxos"
	"tenure/server/watch"
	"tenure/storage"
)

// newNodeOn is a node over the store in dir, formed by itself, before its run starts.
func newNodeOn(t *testing.T, dir string) *Node {
	t.Helper()
	store, err := storage.Open(dir, storage.Options{LogInitialBytes: 64 << 10, MapBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	n := &Node{
		clock: clock.New(), gate: newGate(), inbox: newInbox[event](), nudged: make(chan struct{}, 1), persister: newPersister(), checkpointIn: make(chan *kv.Frozen, 1),
		metrics: newMetrics(prometheus.NewRegistry()), log: zerolog.Nop(), store: store, hub: watch.New(watch.DefaultLimits),
		cfg: Config{Node: 1, LeaseTime: time.Minute, MaxLeaseTime: time.Hour, ClockDriftPPM: 10_000},
	}
	if !store.Identity().Formed {
		m := ident.Membership{Number: 1, Members: []ident.Member{{Node: 1, Store: store.Identity().Store}}}
		if err := store.SetNode(1); err != nil {
			t.Fatal(err)
		}
		if err := store.Found(ident.ClusterID{1}, m); err != nil {
			t.Fatal(err)
		}
	}
	n.membership = store.Identity().Membership
	return n
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
		if err := n.startRun(run == 0); err != nil {
			t.Fatal(err)
		}
		record := n.store.StartRecord()
		if record.Restart != n.self.Restart || record.Quarantine.Master < n.cfg.LeaseTime || record.Quarantine.User < record.Bucket ||
			record.Bucket != named.LeastBucket(n.cfg.timing()) {
			t.Errorf("run %d as %v left the start record %+v", run+1, n.self, record)
		}
		if n.self.Restart != run+1 || n.self.Nonce == before.Nonce {
			t.Errorf("run %d is %v after %v", run+1, n.self, before)
		}
		before = n.self
		now := n.clock.Now()
		left := n.elector.QuarantineLeft(now)
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
	if err := first.startRun(true); err != nil {
		t.Fatal(err)
	}
	owed := first.store.StartRecord().Quarantine
	first.store.Close()

	n := newNodeOn(t, dir)
	n.cfg.LeaseTime, n.cfg.MaxLeaseTime = time.Second, time.Second
	n.startedAt = n.clock.Now() - 3*time.Hour
	if err := n.startRun(false); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	close(stop) // the watcher looks once
	if err := n.runWatcher(stop); err != nil {
		t.Fatal(err)
	}
	if got := n.store.StartRecord().Quarantine; got != owed {
		t.Errorf("before the silence has passed the record is %+v, while the runs before owe %+v", got, owed)
	}
	n.quarantineBegan -= 3 * time.Hour
	if err := n.runWatcher(stop); err != nil {
		t.Fatal(err)
	}
	want := storage.Quarantine{Master: n.quarantine.Own, User: owed.User} // N4 lowers the other
	if got := n.store.StartRecord().Quarantine; got != want {
		t.Errorf("after the silence the record is %+v; this run owes %+v", got, want)
	}
}

// "A reply never leaves before its state is on disk": the log part hears of a Persist or a checkpoint when it is
// durable, and never of one that failed.
func TestNothingIsReportedThatIsNotDurable(t *testing.T) {
	n := newNodeOn(t, filepath.Join(t.TempDir(), "data"))
	stop := make(chan struct{})
	ended := make(chan error, 1)
	promised := ballot.New(7, ballot.Incarnation{Node: 1, Restart: 1, Nonce: 1})
	stepped := make(chan struct{}, 1)
	n.inbox.drain = func() { stepped <- struct{}{} } // and keeps the turn
	n.persister.add([]multipaxos.Persist{{Seq: 1, Promised: promised}})
	go func() { ended <- n.runPersister(stop) }()
	<-stepped
	if got := n.inbox.take(); len(got) != 1 || got[0].Persisted != 1 || n.store.Durable().Promised != promised {
		t.Fatalf("%+v, durable is %+v", got, n.store.Durable())
	}
	n.inbox.release()
	n.store.Close()
	n.persister.add([]multipaxos.Persist{{Seq: 2, Promised: ballot.New(8, ballot.Incarnation{Node: 1, Restart: 1, Nonce: 1})}})
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a commit that failed ended the loop without an error")
		}
	case <-stepped:
		t.Fatal("the log part was told of a commit that failed")
	}
	state, err := kv.Open(kv.NewMemStateDB(), kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := state.Apply(1, nil); err != nil {
		t.Fatal(err)
	}
	n.checkpointIn <- state.Freeze()
	if err := n.runCheckpointer(stop); err == nil {
		t.Error("a checkpoint that failed did not end the loop")
	}
	if got := n.inbox.take(); len(got) != 0 {
		t.Fatalf("told the log part of %+v", got)
	}
}
