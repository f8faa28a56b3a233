package runner

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/internal/ident"
	"tenure/internal/quorum"
	"tenure/kv"
	"tenure/lease"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/replica/elector"
	"tenure/storage"
)

// noPeers sends nothing.
type noPeers struct{}

func (noPeers) SendLease(ballot.NodeID, []byte) bool { return false }
func (noPeers) SendLog(ballot.NodeID, []byte) bool   { return false }
func (noPeers) SendNamed(ballot.NodeID, []byte) bool { return false }

// noDisk stands for a log.db that nobody reads back.
type noDisk struct{}

func (noDisk) Entries(_, _ multipaxos.Slot, _ int) ([]multipaxos.Entry, error) { return nil, nil }

// openStore opens a store in dir.
func openStore(t *testing.T, dir string) *storage.Store {
	t.Helper()
	store, err := storage.Open(dir, storage.Options{LogInitialBytes: 64 << 10, MapBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// newStore opens a store in an empty directory.
func newStore(t *testing.T) *storage.Store { return openStore(t, filepath.Join(t.TempDir(), "data")) }

func testDisk(store *storage.Store) *Disk {
	return NewDisk(DiskConfig{Store: store, Clock: clock.New(), Registry: prometheus.NewRegistry(), Logger: zerolog.Nop()})
}

// testMembers is a cluster of voters in which self is one.
func testMembers(self ballot.NodeID, others ...ballot.NodeID) *Members {
	m := ident.Membership{Number: 1, Members: []ident.Member{{Node: self, Store: ident.StoreID{byte(self)}}}}
	for _, n := range others {
		m.Members = append(m.Members, ident.Member{Node: n, Store: ident.StoreID{byte(n)}})
	}
	return NewMembers(self, m, nil)
}

// newLoneLog is the log of a node alone, stepped by hand: it holds the lease for an hour and is ready.
func newLoneLog(t *testing.T) *Log {
	t.Helper()
	self := ballot.Incarnation{Node: 1, Restart: 1, Nonce: 1}
	state, err := kv.Open(kv.NewMemStateDB(), kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	cfg := replica.Config{
		Self: self, Membership: testMembers(1).Load(), Timing: lease.Timing{MaxMaster: time.Second, MaxUser: time.Second},
		Core: multipaxos.Config{Self: self, PageBytes: 1 << 20, WindowEntries: 4096, WindowBytes: 8 << 20,
			CacheBytes: 4 << 20, KeepEntries: 64, NeedOf: replica.NeedOf},
		MaxBatchBytes: 1 << 20, MaxInFlight: 4, GatherFor: time.Millisecond, MaxQueued: 100, MaxQueuedBytes: 32 << 20,
		MaxForwarded: 100, MaxReads: 100, ApplyBytes: 1 << 20, CheckpointBytes: 16 << 20, CheckpointLogBytes: 64 << 20,
		CompareEvery: time.Second,
	}
	base := multipaxos.Membership{Number: 1, Voters: quorum.Of(1)}
	core, err := multipaxos.New(cfg.Core, base, multipaxos.Durable{}, noDisk{})
	if err != nil {
		t.Fatal(err)
	}
	part, err := replica.NewLog(cfg, core, state)
	if err != nil {
		t.Fatal(err)
	}
	l := NewLog(LogConfig{
		Part: part, Members: testMembers(1), State: NewState(state), Clock: clock.New(), Mastership: NewMastership(),
		Health: NewHealth(testMembers(1)), Disk: testDisk(nil), Send: noPeers{},
		LetGo: func(elector.LetGo) {}, RequireLevel: func(uint64) {}, Dismiss: func(uint64) {},
		Roster: func(ident.Roster) {}, Lifecycle: NewLifecycle(func() {}), Registry: prometheus.NewRegistry(),
		Logger: zerolog.Nop(),
	})
	l.inbox.drain = nil // stepped by hand
	l.cfg.Mastership.SetLease(elector.State{Tenure: 1, Deadline: l.cfg.Clock.Now() + time.Hour})
	for range 10 {
		if err := l.round(); err != nil {
			t.Fatal(err)
		}
		l.syncAll()
	}
	if p := l.cfg.Mastership.Load(); p.Ready != 1 {
		t.Fatalf("not ready: %+v", p)
	}
	return l
}

// syncAll makes durable what the log has handed out.
func (l *Log) syncAll() {
	for _, p := range l.persister.drain() {
		l.inbox.put(logEvent{Event: replica.Event{Persisted: p.Seq}})
	}
}

// pass waits until the log's clock is beyond a reading.
func (l *Log) pass(beyond time.Duration) {
	for l.cfg.Clock.Now() <= beyond {
		time.Sleep(100 * time.Microsecond)
	}
}
