package multipaxos

import (
	"errors"
	"testing"
)

// fill has the leader choose n one-byte values with the votes of all, and apply them.
func (s *solo) fill(n int) {
	s.t.Helper()
	for range n {
		s.propose("x")
		s.sync()
		s.accepted(2, s.Last(), s.Last())
		s.Applied(s.Chosen())
	}
}

func (s *solo) checkpointedBy(from int, at Slot) {
	s.t.Helper()
	m := Message{Kind: KindHeartbeatReply, Ballot: s.Ballot(), Checkpointed: at}
	m.From = s.cfg.Voters.At(from - 1)
	s.step(m)
}

func TestTruncateBelowWhatAllCheckpointed(t *testing.T) {
	cfg := soloConfig(3)
	cfg.KeepEntries = 2
	s := leading(t, cfg)
	s.fill(10)
	s.Checkpointed(10)
	s.checkpointedBy(2, 8)
	s.ticks(2)
	if s.Truncated() != 0 {
		t.Fatal("truncated before everybody was heard")
	}
	s.checkpointedBy(3, 6)
	beat := only(s.ticks(1), KindHeartbeat)
	if s.Truncated() != 4 || len(beat) != 2 || beat[0].Checkpointed != 6 {
		t.Fatalf("truncated %d, heartbeats %+v", s.Truncated(), beat)
	}
	s.sync()
	if len(s.disk.entries) != 6 || s.disk.truncated != 4 {
		t.Fatalf("on disk: %d entries above %d", len(s.disk.entries), s.disk.truncated)
	}
	if _, err := s.ChosenEntries(4, 100); !errors.Is(err, ErrTruncated) {
		t.Fatalf("a truncated entry: %v", err)
	}
	if es, err := s.ChosenEntries(5, 100); err != nil || len(es) != 6 {
		t.Fatalf("%d entries, %v", len(es), err)
	}
	s.none(s.step(Message{Kind: KindFetch, From: 3, Slot: 4}), KindLearn, "a truncated entry")
}

// A follower goes by what the leader tells, and never above its own state database.
func TestFollowerTruncatesOnlyItsCheckpointed(t *testing.T) {
	s := follower(t)
	s.step(accept(by(2, 1), 0, 1, "a", "b", "c", "d"))
	s.step(Message{Kind: KindHeartbeat, From: 2, Ballot: by(2, 1), Chosen: 4, Checkpointed: 4})
	s.sync()
	s.ticks(1)
	if s.Truncated() != 0 {
		t.Fatal("truncated above the own state database")
	}
	s.Applied(4)
	s.Checkpointed(3)
	s.ticks(1)
	if s.Truncated() != 3 {
		t.Fatalf("truncated %d", s.Truncated())
	}
	p := s.one(append(s.step(prepare(by(3, 2), 1)), s.sync()...), KindPromise)
	if p.Truncated != 3 || len(p.Entries) != 1 || p.Entries[0].Slot != 4 {
		t.Fatalf("promise %+v", p)
	}
}

func TestTruncationIsBoundedPerTick(t *testing.T) {
	s := leading(t, soloConfig(1))
	n := maxTruncate + 10
	for range n {
		s.propose("x")
		s.sync()
	}
	s.Applied(s.Chosen())
	s.Checkpointed(s.Chosen())
	s.ticks(1)
	if s.Truncated() != maxTruncate {
		t.Fatalf("truncated %d in one tick", s.Truncated())
	}
	s.ticks(1)
	if s.Truncated() != Slot(n) {
		t.Fatalf("truncated %d", s.Truncated())
	}
}

// A state database can be ahead of the lazily written chosen mark: what is in it was chosen.
func TestStateDBAheadOfTheChosenMark(t *testing.T) {
	d := newDisk()
	d.promised, d.chosen, d.last = by(2, 1), 1, 4
	for _, e := range entries(by(2, 1), 1, "a", "b", "c", "d") {
		d.entries[e.Slot] = e
	}
	s := newSolo(t, soloConfig(3), d)
	s.Checkpointed(3)
	s.Applied(3)
	s.wantChosen(3, "folded")
	if s.Truncated() != 0 || s.SyncedThrough() != 3 {
		t.Fatalf("truncated %d, synced %d", s.Truncated(), s.SyncedThrough())
	}
	s.Lead()
	if p := only(s.sync(), KindPrepare); p[0].Slot != 4 {
		t.Fatalf("asks from %d", p[0].Slot)
	}
	mustPanic(t, "checkpointing what is not chosen", func() { s.Checkpointed(9) })
}

// "If a node applied and checkpointed entries that its own log had not yet synced, it reports truncated = applied."
func TestStateDBAheadOfTheLogCountsAsTruncated(t *testing.T) {
	d := newDisk()
	d.promised, d.last = by(2, 1), 1
	d.entries[1] = entries(by(2, 1), 1, "a")[0]
	s := newSolo(t, soloConfig(3), d)
	s.Checkpointed(3)
	p := s.one(append(s.step(prepare(by(3, 2), 1)), s.sync()...), KindPromise)
	if p.Truncated != 3 || p.Chosen != 3 || len(p.Entries) != 0 || !p.Last {
		t.Fatalf("promise %+v", p)
	}
	if d.truncated != 3 || len(d.entries) != 0 {
		t.Fatalf("on disk %+v", d)
	}
}

// A slot that was written again is synced only with its new entry.
func TestSyncedThroughFollowsTheNewestEntry(t *testing.T) {
	s := follower(t)
	s.step(accept(by(2, 1), 0, 1, "old"))
	s.sync()
	s.step(accept(by(3, 2), 0, 1, "new"))
	s.step(Message{Kind: KindHeartbeat, From: 3, Ballot: by(3, 2), Chosen: 1})
	s.wantChosen(1, "same ballot")
	if s.SyncedThrough() != 0 {
		t.Fatal("the disk holds an older value, and the slot counts as synced")
	}
	s.sync()
	if s.SyncedThrough() != 1 {
		t.Fatalf("synced through %d", s.SyncedThrough())
	}
}
