package runner

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage"
)

// begin makes store that of a node alone, whose first run begins.
func begin(t *testing.T, store *storage.Store) {
	t.Helper()
	m := ident.Membership{Number: 1, Members: []ident.Member{{Node: 1, Store: store.Identity().Store}}}
	if err := store.SetNode(1); err != nil {
		t.Fatal(err)
	}
	if err := store.Found(ident.ClusterID{1}, m); err != nil {
		t.Fatal(err)
	}
	if err := store.Start(storage.StartRecord{Restart: 1, Bucket: time.Second,
		Quarantine: storage.Quarantine{Master: time.Second, User: time.Second}}); err != nil {
		t.Fatal(err)
	}
}

// histogram is one that nobody reads.
func histogram() prometheus.Observer {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "x"})
}

// frozen returns a change that waits for its checkpoint.
func frozen(t *testing.T) *kv.Frozen {
	t.Helper()
	state, err := kv.Open(kv.NewMemStateDB(), kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := state.Apply(1, nil); err != nil {
		t.Fatal(err)
	}
	return state.Freeze()
}

// "A reply never leaves before its state is on disk": the log part hears of a Persist or a checkpoint when it is
// durable, and never of one that failed.
func TestNothingIsReportedThatIsNotDurable(t *testing.T) {
	store, in := newStore(t), newInbox[logEvent]()
	disk := testDisk(store)
	p := newPersister(store, disk, in, make(chan struct{}, 1), histogram())
	stop := make(chan struct{})
	ended := make(chan error, 1)
	promised := ballot.New(7, ballot.Incarnation{Node: 1, Restart: 1, Nonce: 1})
	stepped := make(chan struct{}, 1)
	in.drain = func() { stepped <- struct{}{} } // and keeps the turn
	p.add([]multipaxos.Persist{{Seq: 1, Promised: promised}})
	go func() { ended <- p.run(stop) }()
	<-stepped
	if got := in.popAll(); len(got) != 1 || got[0].Persisted != 1 || store.Durable().Promised != promised {
		t.Fatalf("%+v, durable is %+v", got, store.Durable())
	}
	in.release()
	store.Close()
	p.add([]multipaxos.Persist{{Seq: 2, Promised: ballot.New(8, ballot.Incarnation{Node: 1, Restart: 1, Nonce: 1})}})
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a commit that failed ended the loop without an error")
		}
	case <-stepped:
		t.Fatal("the log part was told of a commit that failed")
	}
	c := newCheckpointer(store, disk, in, histogram())
	c.frozen <- frozen(t)
	if err := c.run(stop); err == nil {
		t.Error("a checkpoint that failed did not end the loop")
	}
	if got := in.popAll(); len(got) != 0 {
		t.Fatalf("told the log part of %+v", got)
	}
}
