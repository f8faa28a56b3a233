package multipaxos

import (
	"slices"
	"testing"
)

func slotsOf(ms []Message, to int) (out []Slot) {
	for _, m := range only(ms, KindAccept) {
		if int(m.To) == to {
			for _, e := range m.Entries {
				out = append(out, e.Slot)
			}
		}
	}
	return out
}

func TestWindowBoundsProposals(t *testing.T) {
	cfg := soloConfig()
	cfg.WindowEntries = 3
	s := leadingWith(t, cfg, 3)
	s.propose("a", "b", "c")
	if _, ok := s.Propose([]byte("d")); ok || s.MayPropose() {
		t.Fatal("a fourth entry in a window of three")
	}
	s.sync()
	s.accepted(2, 1, 1)
	s.propose("d")

	cfg = soloConfig()
	cfg.WindowBytes = 4
	s = leadingWith(t, cfg, 3)
	s.propose("abc", "def")
	if s.MayPropose() {
		t.Fatal("may propose, with six bytes in a window of four")
	}
	s.sync()
	s.accepted(2, 1, 2)
	if !s.MayPropose() {
		t.Fatal("may not propose, with nothing in the window")
	}
	s.Retire()
	if s.MayPropose() {
		t.Fatal("may propose after retiring")
	}
}

// A quorum of others must not let a leader run ahead of its own disk.
func TestOwnDiskBoundsProposals(t *testing.T) {
	s := leading(t, 3)
	for n := 0; s.MayPropose(); n++ {
		if n > 5*s.cfg.WindowEntries {
			t.Fatalf("%d entries in memory while the disk stalls", n)
		}
		s.propose("x")
		s.take()
		s.accepted(2, s.Last(), s.Last())
		s.accepted(3, s.Last(), s.Last())
	}
	s.sync()
	if !s.MayPropose() {
		t.Fatal("may not propose after the disk came back")
	}
}

func TestPagesBoundAccepts(t *testing.T) {
	cfg := soloConfig()
	cfg.PageBytes = 4
	s := leadingWith(t, cfg, 3)
	s.propose("ab", "cd", "ef")
	sent := only(s.take(), KindAccept)
	if len(sent) != 4 || len(sent[0].Entries) != 2 || len(sent[1].Entries) != 1 {
		t.Fatalf("accepts %+v", sent)
	}
}

// A peer that acknowledges nothing gets a bounded number of bytes, then single messages, more and more rarely.
func TestSilentPeerGetsBoundedBursts(t *testing.T) {
	cfg := soloConfig()
	cfg.PageBytes = 1
	s := leadingWith(t, cfg, 3)
	for range 20 {
		s.propose("x")
		s.take()
		s.sync()
		s.accepted(2, s.Last(), s.Last())
	}
	s.wantChosen(20, "with node 2")
	if p := s.leader.peers.get(3); p.inFlightBytes > cfg.WindowEntries || p.acked != 0 {
		t.Fatalf("progress of the silent peer: %+v", p)
	}
	s.propose("y", "z")
	s.take()
	var sent []Message
	for range 20 {
		burst := slotsOf(s.ticks(1), 3)
		if len(burst) > 1 {
			t.Fatalf("a burst of %v", burst)
		}
		for range burst {
			sent = append(sent, Message{})
		}
	}
	if len(sent) < 2 || len(sent) > 4 {
		t.Fatalf("%d messages in 20 ticks", len(sent))
	}
	// Once it answers, the rest follows at once; chosen slots are left for it to fetch.
	if got := slotsOf(s.accepted(3, 21, 21), 3); !slices.Equal(got, []Slot{22}) {
		t.Fatalf("after its answer: %v", got)
	}
}

// Bytes on their way to a peer are bounded, too, while the other peers go on.
func TestSilentPeerGetsBoundedBytes(t *testing.T) {
	cfg := soloConfig()
	cfg.PageBytes, cfg.WindowEntries, cfg.WindowBytes = 1, 100, 10
	s := leadingWith(t, cfg, 3)
	var sent []Slot
	for range 20 {
		s.propose("12345")
		sent = append(sent, slotsOf(s.take(), 3)...)
		s.sync()
		sent = append(sent, slotsOf(s.accepted(2, s.Last(), s.Last()), 3)...)
	}
	if n := s.leader.peers.get(3).inFlightBytes; len(sent) < 1 || len(sent) > 3 || n < 5 || n > 15 {
		t.Fatalf("a peer that acknowledges nothing was sent %v, %d bytes are on their way", sent, n)
	}
}

func TestLostAcceptIsSentAgain(t *testing.T) {
	t.Run("on tick", func(t *testing.T) {
		s := leading(t, 3)
		s.propose("a", "b")
		s.take()
		if got := slotsOf(s.ticks(minResendTicks), 2); !slices.Equal(got, []Slot{1, 2}) {
			t.Fatalf("sent again: %v", got)
		}
	})
	t.Run("on reconnect", func(t *testing.T) {
		s := leading(t, 3)
		s.propose("a", "b")
		s.take()
		s.accepted(2, 1, 1)
		s.Connected(2)
		if got := slotsOf(s.take(), 2); !slices.Equal(got, []Slot{2}) {
			t.Fatalf("sent again: %v", got)
		}
		s.Connected(9)
		s.Connected(1)
		s.none(s.take(), KindAccept, "to a stranger")
	})
	t.Run("on reconnect, behind what is chosen", func(t *testing.T) {
		s := leading(t, 3)
		s.fill(3)
		s.propose("a", "b")
		s.take()
		s.Connected(2)
		if got := slotsOf(s.take(), 2); len(got) == 0 || got[0] != 4 {
			t.Fatalf("sent again: %v", got)
		}
	})
	t.Run("when a Mark shows it lacks it", func(t *testing.T) {
		s := leading(t, 3)
		s.propose("a", "b", "c")
		s.take()
		reply := Message{Kind: KindMarkReply, From: 2, Ballot: s.Ballot(), Slot: 2}
		if got := slotsOf(s.step(reply), 2); !slices.Equal(got, []Slot{2, 3}) {
			t.Fatalf("sent again: %v", got)
		}
		reply.Slot = 0
		if got := slotsOf(s.step(reply), 2); len(got) != 0 {
			t.Fatalf("it lacks nothing and was sent %v", got)
		}
	})
}

func TestMarkReplyNamesTheFirstMissingSlot(t *testing.T) {
	s := follower(t)
	s.step(accept(by(2, 1), 0, 1, "a"))
	s.step(accept(by(2, 1), 0, 3, "c"))
	mark := Message{Kind: KindMark, From: 2, Ballot: by(2, 1), Through: 3}
	if r := s.one(s.step(mark), KindMarkReply); r.Slot != 2 {
		t.Fatalf("reply %+v", r)
	}
	s.step(accept(by(2, 1), 0, 2, "b"))
	if r := s.one(s.step(mark), KindMarkReply); r.Slot != 0 {
		t.Fatalf("reply %+v", r)
	}
	mark.Ballot.Counter, mark.From, mark.Ballot.Node = 2, 3, 3
	if r := s.one(s.step(mark), KindMarkReply); r.Slot != 1 {
		t.Fatalf("reply under another ballot %+v", r)
	}
}

// With one client writing, followers learn what is chosen within a tick; with none, there is little to say.
func TestMarks(t *testing.T) {
	s := leading(t, 3)
	s.ticks(idleTicks)
	if n := len(only(s.ticks(4*idleTicks), KindMark)); n != 2*4 {
		t.Fatalf("%d Marks in an idle time of four", n)
	}
	s.propose("a")
	s.sync()
	s.accepted(2, 1, 1)
	s.Applied(1)
	if marks := only(s.ticks(1), KindMark); len(marks) != 2 || marks[0].Chosen != 1 || marks[0].Through != 1 {
		t.Fatalf("marks %+v", marks)
	}
	s.ticks(idleTicks)
	s.none(s.ticks(1), KindMark, "nothing new")
}

func TestAdvertiseTellsOnceAndAtOnce(t *testing.T) {
	s := leading(t, 3)
	s.fill(1)
	s.Advertise(3)
	s.Advertise(3)
	s.Advertise(9)
	if mark := s.one(s.take(), KindMark); mark.To != 3 || mark.Chosen != 1 {
		t.Fatalf("mark %+v", mark)
	}
	s.Retire()
	s.Advertise(2)
	s.none(s.take(), KindMark, "after retiring")
}

func TestPrepareIsRepeated(t *testing.T) {
	s := follower(t)
	s.Lead()
	s.sync()
	s.step(Message{Kind: KindPromise, From: 2, Ballot: s.Ballot(), Slot: 1, Entries: entries(by(3, 0), 1, "x")})
	p := only(s.ticks(prepareTicks), KindPrepare)
	if len(p) != 2 || p[0].To != 2 || p[0].Slot != 2 || p[1].Slot != 1 {
		t.Fatalf("repeated %+v", p)
	}
	s.Connected(3)
	s.one(s.take(), KindPrepare)
}

func TestConfirmIsRepeated(t *testing.T) {
	s := leading(t, 3)
	r := s.Confirm()
	s.take()
	c := only(s.ticks(confirmTicks), KindConfirm)
	if len(c) != 2 || c[0].Round != r {
		t.Fatalf("repeated %+v", c)
	}
	s.step(Message{Kind: KindConfirmed, From: 2, Ballot: s.Ballot(), Round: r})
	s.none(s.ticks(3*confirmTicks), KindConfirm, "after the quorum")
}

func TestFetchIsRepeatedOfOthers(t *testing.T) {
	s := follower(t)
	s.one(s.step(Message{Kind: KindMark, From: 2, Ballot: by(2, 1), Chosen: 5}), KindFetch)
	s.none(s.step(Message{Kind: KindMark, From: 2, Ballot: by(2, 1), Chosen: 6}), KindFetch, "one question at a time")
	asked := map[int]bool{}
	for _, f := range only(s.ticks(4*fetchTicks), KindFetch) {
		asked[int(f.To)] = true
	}
	if !asked[2] || !asked[3] {
		t.Fatalf("asked %v", asked)
	}
	f := s.one(s.step(Message{Kind: KindLearn, From: 3, Chosen: 6, Entries: entries(by(2, 1), 1, "a", "b")}), KindFetch)
	if f.Slot != 3 || f.To != 3 {
		t.Fatalf("next page %+v", f)
	}
}

// Learned entries stay in memory until they are durable, so a stalled disk stops the fetching.
func TestStalledDiskStopsCatchingUp(t *testing.T) {
	s := follower(t)
	s.step(Message{Kind: KindMark, From: 2, Ballot: by(2, 1), Chosen: 1000})
	for n := 0; ; n++ {
		sent := s.step(Message{Kind: KindLearn, From: 2, Chosen: 1000,
			Entries: entries(by(2, 1), s.Chosen()+1, "a", "b", "c", "d")})
		if len(only(sent, KindFetch)) == 0 {
			break
		}
		if n > 100 {
			t.Fatal("asks on without end")
		}
	}
	s.none(s.ticks(20), KindFetch, "while the disk stalls")
	s.one(s.sync(), KindFetch)
}

func TestStalledDiskHoldsUpPromisePages(t *testing.T) {
	s := follower(t)
	s.Lead()
	s.sync()
	page := Message{Kind: KindPromise, From: 2, Ballot: s.Ballot(), Slot: 1, Chosen: 1000}
	for n := 0; ; n++ {
		page.Entries = entries(by(3, 0), page.Slot, "a", "b", "c", "d")
		if len(only(s.step(page), KindPrepare)) == 0 {
			break
		}
		if page.Slot += 4; n > 100 {
			t.Fatal("asks on without end")
		}
	}
	for _, m := range only(s.ticks(20), KindPrepare) {
		if m.To == 2 {
			t.Fatalf("asked on while the disk stalls: %+v", m)
		}
	}
	if p := s.one(s.sync(), KindPrepare); p.To != 2 || p.Slot != s.Chosen()+1 {
		t.Fatalf("went on with %+v", p)
	}
}

func TestChosenMarkRidesOnAPersist(t *testing.T) {
	s := leading(t, 3)
	s.propose("a")
	s.sync()
	s.accepted(2, 1, 1)
	if len(s.wait) != 0 {
		t.Fatal("a chosen mark cost a sync of its own")
	}
	s.propose("b")
	s.sync()
	if s.disk.chosen != 1 {
		t.Fatalf("chosen mark on disk %d", s.disk.chosen)
	}
	s.accepted(2, 2, 2)
	s.ticks(chosenTicks - 1)
	if len(s.wait) != 0 {
		t.Fatal("too early")
	}
	s.ticks(1)
	s.sync()
	if s.disk.chosen != 2 || s.MarkedThrough() != 2 {
		t.Fatalf("chosen mark on disk %d after an idle second, known as %d", s.disk.chosen, s.MarkedThrough())
	}
	s.ticks(3 * chosenTicks)
	if len(s.wait) != 0 {
		t.Fatal("nothing new, and yet a sync")
	}
}

// A mark must not be on disk before the entries it speaks of.
func TestChosenMarkIsNeverEarly(t *testing.T) {
	s := leading(t, 3)
	s.propose("a")
	s.take()
	s.accepted(2, 1, 1)
	s.accepted(3, 1, 1)
	s.propose("b")
	s.take()
	if len(s.wait) != 2 || s.wait[0].Chosen != 0 || s.wait[1].Chosen != 1 || s.wait[1].Seq != s.wait[0].Seq+1 {
		t.Fatalf("persists %+v", s.wait)
	}
}
