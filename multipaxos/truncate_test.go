package multipaxos

import (
	"errors"
	"strings"
	"testing"

	"tenure/internal/ballot"
)

// fill makes the leader choose n one-byte values with the votes of all, and apply them.
func (s *solo) fill(n int) {
	s.t.Helper()
	for range n {
		s.propose("x")
		s.sync()
		s.accepted(2, s.Last(), s.Last())
		s.Applied(s.Chosen())
	}
}

// "Truncation keeps a tail by entries and bytes for slow followers": its own bound, whoever is down.
func TestTruncateByTheOwnBound(t *testing.T) {
	cfg := soloConfig()
	cfg.KeepEntries = 2
	s := leadingWith(t, cfg, 3)
	s.fill(10)
	s.ticks(1)
	if s.Truncated() != 0 {
		t.Fatal("truncated what the state database lacks")
	}
	s.Checkpointed(6)
	s.ticks(1)
	if s.Truncated() != 4 {
		t.Fatalf("truncated %d", s.Truncated())
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
	g := s.one(s.step(Message{Kind: KindFetch, From: 3, Slot: 4}), KindGone)
	if g.Slot != 4 || g.Truncated != 4 || g.To != 3 {
		t.Fatalf("%+v", g)
	}
	s.one(s.step(Message{Kind: KindFetch, From: 3, Slot: 5}), KindLearn)
}

// While all members have the log an eighth of the tail is enough; one that lags has the rest kept for it.
func TestTheTailIsForMembersThatLag(t *testing.T) {
	cfg := soloConfig()
	cfg.KeepEntries = 16
	s := leadingWith(t, cfg, 3)
	s.fill(40)
	s.Checkpointed(30)
	for _, c := range []struct{ allHave, truncated Slot }{{0, 14}, {12, 14}, {20, 20}, {29, 28}, {40, 28}} {
		s.SetAllHave(c.allHave)
		s.ticks(1)
		if s.Truncated() != c.truncated {
			t.Errorf("truncated %d while all have %d, want %d", s.Truncated(), c.allHave, c.truncated)
		}
	}
}

// The tail ends by bytes too, whichever comes first, and that of an earlier run like this one's.
func TestTailIsBoundedInBytes(t *testing.T) {
	cfg := soloConfig()
	cfg.KeepEntries, cfg.KeepBytes, cfg.CacheBytes, cfg.WindowBytes = 1000, 300<<10, 0, 1<<20
	s := leadingWith(t, cfg, 1)
	for range 20 {
		s.propose(strings.Repeat("x", 40<<10))
		s.sync()
	}
	s.Applied(20)
	s.Checkpointed(15)
	for name, s := range map[string]*solo{"this run": s, "the next run": newSolo(t, cfg, base(1), s.disk)} {
		s.Checkpointed(15)
		s.ticks(100)
		kept := 15 - int(s.Truncated())
		if kept != 7 {
			t.Errorf("%s: a tail of %d entries of 40 KiB in 300 KiB", name, kept)
		}
		if tail := &s.acceptor.log.tail; tail.found.len()+tail.pieces.len() > 20-int(s.Truncated()) {
			t.Errorf("%s: the sizes of %d and %d pieces are kept", name, tail.found.len(), tail.pieces.len())
		}
	}
	// The part that the next run has measured and the part that it writes itself make one tail.
	again := newSolo(t, cfg, base(1), s.disk)
	again.Checkpointed(15)
	again.lead()
	again.ticks(100)
	again.propose(strings.Repeat("x", 200<<10))
	again.sync()
	again.Applied(21)
	again.Checkpointed(21)
	again.ticks(100)
	if again.Truncated() != 18 {
		t.Errorf("truncated %d", again.Truncated())
	}
	last := newSolo(t, cfg, base(1), s.disk)
	s.disk.err = errors.New("no disk")
	if err := last.Tick(); !errors.Is(err, s.disk.err) {
		t.Errorf("%v", err)
	}
}

// "the sender pins what follows its snapshot".
func TestPinnedLogIsNotTruncated(t *testing.T) {
	s := leading(t, 1)
	s.fill(10)
	s.Checkpointed(10)
	s.Pin(3)
	s.SetSpace(NeedNothing, true)
	s.ticks(2)
	if s.Truncated() != 3 {
		t.Fatalf("truncated %d", s.Truncated())
	}
	s.Pin(NoPin)
	s.ticks(1)
	if s.Truncated() != 10 {
		t.Fatalf("truncated %d", s.Truncated())
	}
}

// A node that lacks what one other has truncated asks the rest. It is behind when none of them has helped, until one
// does.
func TestBehindOnlyWhenNobodyHasIt(t *testing.T) {
	s := newSolo(t, soloConfig(), base(4), newDisk())
	fetch := s.one(s.step(Message{Kind: KindMark, From: 2, Ballot: by(2, 1), Chosen: 9}), KindFetch)
	gone := func(from ballot.NodeID) []Message {
		return s.step(Message{Kind: KindGone, From: from, Slot: fetch.Slot, Truncated: 5})
	}
	if f := s.one(gone(2), KindFetch); f.To != 3 || s.behind() {
		t.Fatalf("%+v, behind %v", f, s.behind())
	}
	s.none(s.step(Message{Kind: KindMark, From: 2, Ballot: by(2, 1), Chosen: 9}), KindFetch, "one is out")
	if f := s.one(gone(3), KindFetch); f.To != 4 || s.behind() {
		t.Fatalf("%+v, behind %v", f, s.behind())
	}
	if s.ticks(fetchTicks); !s.behind() { // node 4 does not answer
		t.Fatal("not behind")
	}
	s.none(gone(2), KindFetch, "all were asked: time must pass")
	asked := map[ballot.NodeID]bool{}
	for range 10 * fetchTicks {
		sent := s.step(Message{Kind: KindMark, From: 2, Ballot: by(2, 1), Chosen: 9})
		for _, m := range only(append(sent, s.ticks(1)...), KindFetch) {
			asked[m.To] = true
			gone(m.To)
		}
	}
	if len(asked) != 3 {
		t.Fatalf("asked %v", asked)
	}
	s.step(Message{Kind: KindLearn, From: 4, Chosen: 5, Entries: entries(by(2, 1), 1, "a", "b", "c", "d", "e")})
	if s.behind() {
		t.Fatal("behind with all that is gone")
	}
	gone(2)
	if s.learner.missed != 0 {
		t.Fatal("an old answer counts")
	}
}

// A promise that shows a truncated slot shows it at once: this node cannot lead.
func TestBehindWhatAPromiseShows(t *testing.T) {
	s := follower(t)
	s.Lead()
	s.sync()
	s.step(Message{Kind: KindPromise, From: 2, Ballot: s.Ballot(), Slot: 1, Truncated: 4, Last: true})
	if !s.behind() {
		t.Fatal("not behind")
	}
}

// No slot above the own state database is truncated, whatever others have.
func TestFollowerTruncatesOnlyItsCheckpointed(t *testing.T) {
	s := follower(t)
	s.step(accept(by(2, 1), 0, 1, "a", "b", "c", "d"))
	s.step(Message{Kind: KindMark, From: 2, Ballot: by(2, 1), Chosen: 4})
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
	s := leading(t, 1)
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
	s := newSolo(t, soloConfig(), base(3), d)
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
	s := newSolo(t, soloConfig(), base(3), d)
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
	s.step(Message{Kind: KindMark, From: 3, Ballot: by(3, 2), Chosen: 1})
	s.wantChosen(1, "same ballot")
	if s.SyncedThrough() != 0 {
		t.Fatal("the disk holds an older value, and the slot counts as synced")
	}
	s.sync()
	if s.SyncedThrough() != 1 {
		t.Fatalf("synced through %d", s.SyncedThrough())
	}
}
