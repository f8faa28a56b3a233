package server

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// noDisk stands for a log.db that nobody reads back.
type noDisk struct{}

func (noDisk) Entries(_, _ multipaxos.Slot, _ int) ([]multipaxos.Entry, error) { return nil, nil }

// newLoneLoop is the log loop of a node alone, stepped by hand: it holds the lease for an hour and is ready.
func newLoneLoop(t *testing.T) (*Node, *logLoop) {
	t.Helper()
	n := &Node{
		clock: clock.New(), gate: newGate(), inbox: newInbox[event](), nudged: make(chan struct{}, 1), persister: newPersister(), checkpointIn: make(chan *kv.Frozen, 1),
		metrics: newMetrics(prometheus.NewRegistry()), log: zerolog.Nop(), self: ballot.Incarnation{Node: 1, Restart: 1, Nonce: 1},
		cfg: Config{LeaseTime: time.Second},
	}
	n.logView.Store(&logView{})
	n.leaseView.Store(&leaseView{})
	var err error
	if n.state, err = kv.Open(kv.NewMemStateDB(), kv.DefaultLimits); err != nil {
		t.Fatal(err)
	}
	cfg := n.cfg.replica(n.self, ident.Membership{Number: 1, Members: []ident.Member{{Node: 1}}})
	core, err := multipaxos.New(cfg.Core, multipaxos.Durable{}, noDisk{})
	if err != nil {
		t.Fatal(err)
	}
	part, err := replica.NewLog(cfg, core, n.state)
	if err != nil {
		t.Fatal(err)
	}
	l := newLogLoop(n, part)
	l.stages = stages{m: newStageMetrics(prometheus.NewRegistry(), nil)}
	n.inbox.drain = nil // stepped by hand
	n.gate.setLease(1, n.clock.Now()+time.Hour)
	for range 10 {
		if err := l.round(); err != nil {
			t.Fatal(err)
		}
		n.syncAll()
	}
	if p := n.gate.load(); p.Ready != 1 {
		t.Fatalf("not ready: %+v", p)
	}
	return n, l
}

// syncAll makes durable what the loop has handed out.
func (n *Node) syncAll() {
	for _, p := range n.persister.take() {
		n.inbox.put(event{Event: replica.Event{Persisted: p.Seq}})
	}
}

// pass waits until the node's clock is beyond a reading.
func (n *Node) pass(beyond time.Duration) {
	for n.clock.Now() <= beyond {
		time.Sleep(100 * time.Microsecond)
	}
}

// "take the snapshot → then read the clock once" (log.md, Three ways to read): a reader that is held up while it takes
// the data answers nothing if the lease ran out meanwhile.
func TestReadUnderLeaseReadsTheClockAfterTheData(t *testing.T) {
	n, _ := newLoneLoop(t)
	ticket, ok := n.gate.load().Begin()
	if !ok {
		t.Fatal("no ticket")
	}
	if _, done, err := n.takeUnderLease(ticket, func() (uint64, error) { return 7, nil }); !done || err != nil {
		t.Fatalf("a read within the lease: %v, %v", done, err)
	}
	_, done, err := n.takeUnderLease(ticket, func() (uint64, error) {
		deadline := n.clock.Now() + time.Millisecond
		n.gate.setLease(1, deadline)
		n.pass(deadline)
		return 7, nil
	})
	if done || err != nil {
		t.Fatalf("answered after the lease had run out while the data was taken: %v", err)
	}
}

// "chosen → apply → lease still held, same epoch?" (log.md, One write): the clock that acknowledges is read after the
// entry was applied. Here a reader's lock holds the application up beyond the lease.
func TestWriteUnderLeaseReadsTheClockAfterApplying(t *testing.T) {
	for _, late := range []bool{false, true} {
		n, l := newLoneLoop(t)
		reply := make(chan replica.Reply, 1)
		cmd := kv.Command{Op: kv.OpSet, Key: "k", Value: []byte("v")}
		n.inbox.putClient(event{reply: reply, Event: replica.Event{Write: &replica.Request{
			ID: 1, Command: kv.EncodeCommand(&cmd), Until: n.clock.Now() + time.Hour}}})
		if err := l.round(); err != nil {
			t.Fatal(err)
		}
		n.syncAll()
		n.stateMu.RLock()
		ended := make(chan error, 1)
		go func() { ended <- l.round() }()
		for n.stateMu.TryRLock() { // until the round, which has read its clock, waits for the lock
			n.stateMu.RUnlock()
		}
		begun := n.clock.Now()
		n.pass(begun)
		if late {
			deadline := n.clock.Now()
			n.gate.setLease(1, deadline)
			n.pass(deadline)
		}
		n.stateMu.RUnlock()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		r := <-reply
		if want := map[bool]replica.Outcome{false: replica.Done, true: replica.Unknown}[late]; r.Outcome != want {
			t.Errorf("lease over while the entry was applied: %v, answered %+v", late, r)
		}
	}
}
