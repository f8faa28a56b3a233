package multipaxos

import (
	"bytes"
	"slices"
	"testing"

	"tenure/internal/ballot"
)

// The rules of the log's roles and M2–M5, one test a rule. The quoted lines are the rules' own words.

// Acceptor: "Prepare(b, from): if b ≥ promised → promised = b […] Otherwise a rejection with promised."
func TestAcceptorPromisesNothingBelowItsPromise(t *testing.T) {
	s := follower(t)
	s.step(prepare(by(2, 5), 1))
	s.sync()
	r := s.one(s.step(prepare(by(3, 4), 1)), KindReject)
	if r.Ballot != by(3, 4) || r.Promised != by(2, 5) || r.To != 3 {
		t.Fatalf("rejection %+v", r)
	}
	s.none(s.sync(), KindPromise, "a promise below the promise")
	s.one(append(s.step(prepare(by(2, 5), 1)), s.sync()...), KindPromise)
	s.one(append(s.step(prepare(by(3, 5), 1)), s.sync()...), KindPromise)
	if s.Promised() != by(3, 5) || s.disk.promised != by(3, 5) {
		t.Fatalf("promised %v", s.Promised())
	}
}

// Acceptor: "promised = b, durable, then Promise". Also for a Prepare that came twice.
func TestPromiseWaitsForItsDisk(t *testing.T) {
	s := follower(t)
	s.none(s.step(prepare(by(2, 5), 1)), KindPromise, "before the disk")
	s.none(s.step(prepare(by(2, 5), 1)), KindPromise, "the second time, before the disk")
	s.one(s.sync(), KindPromise)
}

// A promise that was lost with the machine before it was durable binds nobody, and was told to nobody.
func TestPromiseLostBeforeTheDiskWasNeverSent(t *testing.T) {
	s := follower(t)
	s.step(prepare(by(2, 5), 1))
	again := newSolo(t, soloConfig(), base(3), s.disk)
	if !again.Promised().IsZero() {
		t.Fatalf("promised %v", again.Promised())
	}
	s.sync()
	again = newSolo(t, soloConfig(), base(3), s.disk)
	again.one(again.step(prepare(by(3, 4), 1)), KindReject)
}

// Acceptor: "Promise with every accepted entry at or above from, its truncated and chosen through, and its newest
// stored membership."
func TestPromiseReportsEverything(t *testing.T) {
	s := follower(t)
	s.step(accept(by(2, 1), 0, 1, "a", "b", "c"))
	s.step(accept(by(2, 1), 2, 5, "e"))
	s.sync()
	p := s.one(append(s.step(prepare(by(3, 2), 2)), s.sync()...), KindPromise)
	want := append(entries(by(2, 1), 2, "b", "c"), entries(by(2, 1), 5, "e")...)
	if !slices.EqualFunc(p.Entries, want, equalEntry) || !p.Last || p.Chosen != 2 || p.Truncated != 0 ||
		p.Membership != 1 || p.Slot != 2 {
		t.Fatalf("promise %+v", p)
	}
}

// Acceptor: "Long promises come in pages and count only when complete."
func TestPromiseComesInPages(t *testing.T) {
	cfg := soloConfig()
	cfg.PageBytes, cfg.CacheBytes = 2, 0
	s := newSolo(t, cfg, base(3), newDisk())
	s.step(accept(by(2, 1), 0, 1, "a", "b", "c", "d", "e"))
	s.sync()
	s.step(accept(by(2, 1), 3, 6, "f"))
	s.sync() // slots 1 to 3 are chosen and only on disk now
	var got []Entry
	for from, last := Slot(1), false; !last; {
		p := s.one(append(s.step(prepare(by(3, 2), from)), s.sync()...), KindPromise)
		if len(p.Entries) > 2 || p.Slot != from {
			t.Fatalf("page %+v", p)
		}
		got = append(got, p.Entries...)
		from, last = p.Entries[len(p.Entries)-1].Slot+1, p.Last
	}
	if !slices.EqualFunc(got, entries(by(2, 1), 1, "a", "b", "c", "d", "e", "f"), equalEntry) {
		t.Fatalf("pages hold %+v", got)
	}
}

// Acceptor: "Accept(b, slots…): if b ≥ promised […] Otherwise reject."
func TestAcceptorRefusesBelowItsPromise(t *testing.T) {
	s := follower(t)
	s.step(prepare(by(2, 5), 1))
	s.sync()
	r := s.one(s.step(accept(by(3, 4), 0, 1, "x")), KindReject)
	if r.Promised != by(2, 5) {
		t.Fatalf("rejection %+v", r)
	}
	s.none(s.sync(), KindAccepted, "accepted below the promise")
	if len(s.values()) != 0 {
		t.Fatalf("stored %q", s.values())
	}
}

// Acceptor: "promised = b, entries stored". An Accept promises as a Prepare does.
func TestAcceptRaisesThePromise(t *testing.T) {
	s := follower(t)
	s.step(accept(by(3, 4), 0, 1, "x"))
	s.sync()
	s.one(s.step(prepare(by(2, 3), 1)), KindReject)
	if s.disk.promised != by(3, 4) {
		t.Fatalf("on disk: %v", s.disk.promised)
	}
}

// Acceptor: "entries stored, durable, then Accepted." A repeated Accept must not be answered sooner.
func TestVoteWaitsForItsDisk(t *testing.T) {
	s := follower(t)
	s.step(prepare(by(2, 1), 1))
	s.sync()
	s.none(s.step(accept(by(2, 1), 0, 1, "x")), KindAccepted, "before the disk")
	s.none(s.step(accept(by(2, 1), 0, 1, "x")), KindAccepted, "the second time, before the disk")
	if a := only(s.sync(), KindAccepted); len(a) != 2 || a[0].Slot != 1 || a[0].Through != 1 || a[0].Ballot != by(2, 1) {
		t.Fatalf("accepted %+v", a)
	}
	s.one(s.step(accept(by(2, 1), 0, 1, "x")), KindAccepted)
}

// The second of two Persists may be what a message waits for: it must not leave with the first.
func TestMessagesWaitForTheirOwnPersist(t *testing.T) {
	s := follower(t)
	s.step(accept(by(2, 1), 0, 1, "x"))
	s.step(accept(by(2, 1), 0, 2, "y"))
	s.Persisted(1)
	if a := s.one(s.take(), KindAccepted); a.Through != 1 {
		t.Fatalf("the first Persist let go %+v", a)
	}
}

// Acceptor: "and the slots are above truncated".
func TestAcceptOfTruncatedSlotsIsRefused(t *testing.T) {
	d := newDisk()
	d.truncated, d.chosen, d.last, d.promised = 5, 5, 5, by(2, 1)
	s := newSolo(t, soloConfig(), base(3), d)
	s.one(s.step(accept(by(2, 1), 0, 5, "x", "y")), KindReject)
	s.none(s.sync(), KindAccepted, "a truncated slot was accepted")
	s.one(append(s.step(accept(by(2, 1), 0, 6, "y")), s.sync()...), KindAccepted)
}

// A chosen slot is acknowledged again, also to a later leader, and never changes.
func TestChosenSlotNeverChanges(t *testing.T) {
	s := follower(t)
	s.step(accept(by(2, 1), 0, 1, "x"))
	s.step(accept(by(2, 1), 1, 2, "y"))
	s.sync()
	s.one(append(s.step(accept(by(3, 4), 0, 1, "x")), s.sync()...), KindAccepted)
	if e := s.disk.entries[1]; e.Ballot != by(2, 1) {
		t.Fatalf("the chosen slot was written again: %+v", e)
	}
	s.one(s.step(accept(by(2, 2), 0, 1, "z")), KindReject)
	mustPanic(t, "another value in a chosen slot", func() { s.step(accept(by(3, 4), 0, 1, "z")) })
	mustPanic(t, "another value under the same ballot", func() {
		s := follower(t)
		s.step(accept(by(2, 1), 0, 1, "x"))
		s.step(accept(by(2, 1), 0, 1, "z"))
	})
}

// Learning an entry of a higher ballot than the promise raises it: a late Accept of a lower leader cannot undo it.
func TestLearnedEntryIsNotOverwrittenByALowerBallot(t *testing.T) {
	s := follower(t)
	s.step(Message{Kind: KindLearn, From: 3, Chosen: 1, Entries: entries(by(3, 7), 1, "x")})
	s.sync()
	s.one(s.step(accept(by(2, 6), 0, 1, "w")), KindReject)
	if s.disk.promised != by(3, 7) {
		t.Fatalf("promised %v on disk", s.disk.promised)
	}
	s.wantChosen(1, "learned")
	// A higher own vote is kept.
	s.step(accept(by(2, 9), 0, 2, "y"))
	s.step(Message{Kind: KindLearn, From: 3, Chosen: 2, Entries: entries(by(3, 7), 2, "y")})
	s.sync()
	if e := s.disk.entries[2]; e.Ballot != by(2, 9) {
		t.Fatalf("learning lowered the vote to %v", e.Ballot)
	}
}

// M2: "Ballots are above anything promised here or seen elsewhere, and never reused".
func TestM2FreshBallot(t *testing.T) {
	s := follower(t)
	s.step(prepare(by(2, 5), 1))
	s.Lead()
	if b := s.Ballot(); !by(2, 5).Less(b) || b.Incarnation() != s.cfg.Self {
		t.Fatalf("ballot %v after the promise %v", b, by(2, 5))
	}
	s.step(Message{Kind: KindReject, From: 2, Ballot: s.Ballot(), Promised: by(3, 40)})
	s.Lead()
	if b := s.Ballot(); !by(3, 40).Less(b) {
		t.Fatalf("ballot %v after %v was seen", b, by(3, 40))
	}
	old := s.Ballot()
	s.Retire()
	s.Lead()
	if !old.Less(s.Ballot()) {
		t.Fatalf("ballot %v again after %v", s.Ballot(), old)
	}
}

// M2: "its own durable promise comes before its Prepare".
func TestM2OwnPromiseIsDurableBeforePrepare(t *testing.T) {
	s := follower(t)
	s.Lead()
	s.none(s.take(), KindPrepare, "before the own promise is durable")
	s.none(s.ticks(10), KindPrepare, "repeated before the own promise is durable")
	s.step(Message{Kind: KindPromise, From: 2, Ballot: s.Ballot(), Slot: 1, Last: true})
	s.step(Message{Kind: KindPromise, From: 3, Ballot: s.Ballot(), Slot: 1, Last: true})
	if s.Phase() != Preparing {
		t.Fatalf("%v without the own promise", s.Phase())
	}
	if ps := only(s.sync(), KindPrepare); len(ps) != 2 || ps[0].Slot != 1 || s.disk.promised != ps[0].Ballot {
		t.Fatalf("prepares %+v, on disk %v", ps, s.disk.promised)
	}
}

// M2: "A promise whose truncated ≥ from counts only after the leader has installed state through that point".
func TestM2TruncatedPromiseDoesNotCount(t *testing.T) {
	s := follower(t)
	s.Lead()
	s.sync()
	s.step(Message{Kind: KindPromise, From: 2, Ballot: s.Ballot(), Slot: 1, Truncated: 1, Chosen: 1, Last: true})
	if s.Phase() != Preparing {
		t.Fatal("a truncated promise was counted")
	}
	s.step(Message{Kind: KindPromise, From: 3, Ballot: s.Ballot(), Slot: 1, Last: true, Chosen: 1,
		Entries: entries(by(3, 0), 1, "x")})
	if s.Phase() != Leading {
		t.Fatal("a whole promise was not counted")
	}
	s.wantChosen(1, "slot 1 was learned from the whole promise")
}

// "count only when complete": pages are asked for one by one; a repeated or stale page changes nothing.
func TestM2PromiseCountsWhenComplete(t *testing.T) {
	s := follower(t)
	s.Lead()
	s.sync()
	b := s.Ballot()
	first := Message{Kind: KindPromise, From: 2, Ballot: b, Slot: 1, Entries: entries(by(3, 0), 1, "x", "y")}
	if p := s.one(s.step(first), KindPrepare); p.Slot != 3 || p.To != 2 || p.Ballot != b {
		t.Fatalf("next page asked with %+v", p)
	}
	s.none(s.step(first), KindPrepare, "a repeated page asks again")
	s.step(Message{Kind: KindPromise, From: 2, Ballot: b, Slot: 1, Last: true})
	s.step(Message{Kind: KindPromise, From: 2, Ballot: by(1, 0), Slot: 3, Last: true})
	if s.Phase() != Preparing {
		t.Fatal("an incomplete promise was counted")
	}
	s.step(Message{Kind: KindPromise, From: 2, Ballot: b, Slot: 3, Last: true})
	if s.Phase() != Leading {
		t.Fatal("a complete promise was not counted")
	}
}

// "Votes are sets of node ids": of voters, counted once.
func TestVotesAreDistinctVoters(t *testing.T) {
	s := newSolo(t, soloConfig(), base(5), newDisk())
	s.Lead()
	s.sync()
	p := Message{Kind: KindPromise, From: 2, Ballot: s.Ballot(), Slot: 1, Last: true}
	s.step(p)
	s.step(p)
	p.From = 9
	s.step(p)
	if s.Phase() != Preparing {
		t.Fatal("one voter's promise was counted twice, or a stranger's")
	}
	p.From = 3
	s.step(p)
	s.propose("x")
	s.sync()
	s.accepted(2, 1, 1)
	s.accepted(2, 1, 1)
	s.accepted(9, 1, 1)
	s.accepted(1, 1, 1)
	s.wantChosen(0, "two voters of five")
	s.accepted(4, 1, 1)
	s.wantChosen(1, "three voters of five")
}

// M3: "re-propose the highest-ballot value of every slot that Phase 1 reports, and no-ops into gaps".
func TestM3HighestBallotValueAndNoOps(t *testing.T) {
	for _, turned := range []bool{false, true} {
		d := newDisk()
		d.promised, d.last = by(1, 4), 4
		d.entries[1] = entries(by(2, 2), 1, "own-low")[0]
		d.entries[4] = entries(by(1, 4), 4, "own-high")[0]
		s := newSolo(t, soloConfig(), base(5), d)
		s.Lead()
		s.sync()
		two := Message{Kind: KindPromise, From: 2, Ballot: s.Ballot(), Slot: 1, Last: true,
			Entries: append(entries(by(2, 3), 1, "two"), entries(by(2, 2), 6, "two-low")...)}
		three := Message{Kind: KindPromise, From: 3, Ballot: s.Ballot(), Slot: 1, Last: true,
			Entries: append(entries(by(3, 2), 1, "three-low", "three"),
				append(entries(by(3, 3), 4, "three-low"), entries(by(3, 3), 6, "three-high")...)...)}
		if turned {
			two, three = three, two
		}
		s.step(two)
		sent := s.step(three)
		want := entries(s.Ballot(), 1, "two", "three", "", "own-high", "", "three-high")
		for _, a := range only(sent, KindAccept) {
			if a.Ballot != s.Ballot() || !slices.EqualFunc(a.Entries, want, equalEntry) {
				t.Fatalf("proposed again: %+v", a.Entries)
			}
		}
		if len(only(sent, KindAccept)) != 4 || s.Phase() != Leading {
			t.Fatalf("%v, sent %+v", s.Phase(), sent)
		}
		if slot, _ := s.Propose([]byte("new")); slot != 7 {
			t.Fatalf("the first new slot is %d", slot)
		}
	}
}

// M3 over several promises: what a promiser knows chosen is learned; only slots above are proposed again.
func TestM3ChosenSlotsAreLearned(t *testing.T) {
	s := follower(t)
	s.Lead()
	s.sync()
	sent := s.step(Message{Kind: KindPromise, From: 2, Ballot: s.Ballot(), Slot: 1, Last: true, Chosen: 2,
		Entries: entries(by(2, 0), 1, "a", "b", "c")})
	s.wantChosen(2, "reported as chosen")
	if a := only(sent, KindAccept); len(a) != 2 || !slices.EqualFunc(a[0].Entries, entries(s.Ballot(), 3, "c"),
		equalEntry) {
		t.Fatalf("proposed %+v", a)
	}
	s.sync()
	if e := s.disk.entries[1]; e.Ballot != by(2, 0) || string(e.Value) != "a" {
		t.Fatalf("learned entry on disk: %+v", e)
	}
}

// M5: "one round per append", and "several slots in flight".
func TestM5PipelinedRounds(t *testing.T) {
	s := leading(t, 3)
	s.propose("a", "b")
	first := s.one(s.take()[:1], KindAccept)
	s.propose("c")
	second := s.one(s.take()[:1], KindAccept)
	if len(first.Entries) != 2 || len(second.Entries) != 1 || second.Entries[0].Slot != 3 {
		t.Fatalf("accepts %+v, %+v", first, second)
	}
	s.accepted(2, 3, 3)
	s.accepted(3, 3, 3)
	s.wantChosen(0, "slot 1 is open")
	s.accepted(2, 1, 2)
	s.accepted(3, 1, 2)
	s.wantChosen(3, "all have a quorum")
}

// M5: "A higher promise seen anywhere, at the own acceptor too, ends readiness". Nothing is counted any more.
func TestM5HigherPromiseAnywhere(t *testing.T) {
	high := by(3, 50)
	for name, m := range map[string]func(*solo) Message{
		"rejection": func(s *solo) Message {
			return Message{Kind: KindReject, From: 2, Ballot: s.Ballot(), Promised: high}
		},
		"own acceptor, prepare": func(*solo) Message { return prepare(high, 1) },
		"own acceptor, accept":  func(*solo) Message { return accept(high, 0, 1, "other") },
		"mark":                  func(*solo) Message { return Message{Kind: KindMark, From: 3, Ballot: high} },
		"confirm":               func(*solo) Message { return Message{Kind: KindConfirm, From: 3, Ballot: high, Round: 1} },
		"learned entry": func(*solo) Message {
			return Message{Kind: KindLearn, From: 3, Chosen: 1, Entries: entries(high, 1, "other")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := leading(t, 3)
			b := s.Ballot()
			s.propose("x")
			s.take()
			s.step(m(s))
			if !s.Preempted() || s.Phase() == Leading || s.MayPropose() || s.Ballot() != b {
				t.Fatalf("preempted %v, %v", s.Preempted(), s.Phase())
			}
			before := s.Chosen()
			for from := ballot.NodeID(2); from <= 3; from++ {
				s.step(Message{Kind: KindAccepted, From: from, Ballot: b, Slot: 1, Through: 1})
			}
			s.wantChosen(before, "counted after the end")
			s.none(s.ticks(20), KindAccept, "sent after the end")
			s.Lead()
			if s.Preempted() || !high.Less(s.Ballot()) {
				t.Fatalf("leads again under %v", s.Ballot())
			}
		})
	}
}

// A rejection that does not name a higher promise, or a stale lower ballot, ends nothing.
func TestM5LowerBallotsEndNothing(t *testing.T) {
	s := leading(t, 3)
	s.step(Message{Kind: KindReject, From: 2, Ballot: s.Ballot(), Promised: s.Ballot()})
	s.one(s.step(prepare(by(2, 0), 1)), KindReject)
	s.one(s.step(Message{Kind: KindMark, From: 2, Ballot: by(2, 0), Chosen: 9}), KindReject)
	if s.Phase() != Leading {
		t.Fatalf("%v", s.Phase())
	}
}

// Leader: "its own vote counts only once that write is durable."
func TestOwnVoteAfterOwnDisk(t *testing.T) {
	s := leading(t, 3)
	s.propose("x")
	s.take()
	s.accepted(2, 1, 1)
	s.wantChosen(0, "one other vote, own disk not done")
	s.sync()
	s.wantChosen(1, "own disk done")

	one := leading(t, 1)
	one.propose("x")
	one.take()
	one.wantChosen(0, "single voter before its disk")
	one.sync()
	one.wantChosen(1, "single voter after its disk")
}

// Leader: "Its own disk write runs in parallel with the network": a quorum of others suffices.
func TestOthersCanChooseBeforeTheOwnDisk(t *testing.T) {
	s := leading(t, 3)
	s.propose("x")
	if len(only(s.take(), KindAccept)) != 2 {
		t.Fatal("Accepts wait for the own disk")
	}
	s.accepted(2, 1, 1)
	s.accepted(3, 1, 1)
	s.wantChosen(1, "both others voted")
	if s.SyncedThrough() != 0 {
		t.Fatalf("synced through %d", s.SyncedThrough())
	}
	s.sync()
	if s.SyncedThrough() != 1 {
		t.Fatalf("synced through %d", s.SyncedThrough())
	}
}

// Votes under another ballot, or for slots never proposed, count nothing.
func TestVotesOfAnotherBallotDoNotCount(t *testing.T) {
	s := leading(t, 3)
	old := s.Ballot()
	s.lead()
	s.propose("x")
	s.sync()
	s.step(Message{Kind: KindAccepted, From: 2, Ballot: old, Slot: 1, Through: 1})
	s.wantChosen(0, "a vote of the former ballot")
	s.accepted(2, 1, 2)
	s.wantChosen(0, "a vote for what was not proposed")
	s.accepted(2, 1, 1)
	s.wantChosen(1, "a vote")
}

// Learner: "A follower may call slot s chosen from that number only if what it accepted in s has the sender's ballot;
// otherwise it asks for the chosen value."
func TestChosenThroughNeedsTheSendersBallot(t *testing.T) {
	s := follower(t)
	s.step(accept(by(2, 1), 0, 1, "old"))
	s.sync()
	sent := s.step(accept(by(3, 2), 2, 3, "c"))
	s.wantChosen(0, "slot 1 has another ballot, slot 2 is missing")
	if f := s.one(sent, KindFetch); f.Slot != 1 || f.To != 3 {
		t.Fatalf("fetch %+v", f)
	}
	s.step(Message{Kind: KindLearn, From: 3, Chosen: 2, Entries: entries(by(3, 2), 1, "new", "b")})
	s.wantChosen(2, "learned")
	s.step(Message{Kind: KindMark, From: 3, Ballot: by(3, 2), Chosen: 3})
	s.wantChosen(3, "same ballot")
	if got := s.values(); !slices.Equal(got, []string{"new", "b", "c"}) {
		t.Fatalf("log %q", got)
	}
}

// A mark that came before the entries still holds for them.
func TestMarkIsRemembered(t *testing.T) {
	s := follower(t)
	s.step(Message{Kind: KindMark, From: 2, Ballot: by(2, 1), Chosen: 2, Through: 2})
	s.step(accept(by(2, 1), 0, 2, "b"))
	s.wantChosen(0, "slot 1 is missing")
	s.step(accept(by(2, 1), 0, 1, "a"))
	s.wantChosen(2, "both are there")
}

// Entries are learned in slot order, whatever comes.
func TestLearnTakesOnlyTheNextSlot(t *testing.T) {
	s := follower(t)
	s.step(Message{Kind: KindLearn, From: 2, Chosen: 9, Entries: entries(by(2, 1), 2, "b", "c")})
	s.wantChosen(0, "a gap")
	s.step(Message{Kind: KindLearn, From: 2, Chosen: 1, Entries: entries(by(2, 1), 1, "a", "b")})
	s.wantChosen(0, "more entries than the sender knows chosen")
	s.step(Message{Kind: KindLearn, From: 2, Chosen: 9, Entries: entries(by(2, 1), 1, "a", "b")})
	s.step(Message{Kind: KindLearn, From: 2, Chosen: 9, Entries: entries(by(2, 1), 1, "a", "b", "c")})
	s.wantChosen(3, "in order")
	mustPanic(t, "another value for an accepted ballot", func() {
		s.step(accept(by(2, 1), 0, 4, "d"))
		s.step(Message{Kind: KindLearn, From: 2, Chosen: 9, Entries: entries(by(2, 1), 4, "z")})
	})
}

// A leader counts and does not learn.
func TestLeaderDoesNotLearn(t *testing.T) {
	s := leading(t, 3)
	s.propose("x")
	s.take()
	s.step(Message{Kind: KindLearn, From: 3, Chosen: 1, Entries: entries(s.Ballot(), 1, "x")})
	s.wantChosen(0, "learned while leading")
	if s.Phase() != Leading {
		t.Fatalf("%v", s.Phase())
	}
}

// A leader tells only those slots to be chosen that it has applied itself.
func TestAdvertisedChosenIsApplied(t *testing.T) {
	s := leading(t, 3)
	s.propose("a", "b")
	s.sync()
	s.accepted(2, 1, 2)
	s.wantChosen(2, "quorum")
	s.Applied(1)
	s.propose("c")
	for _, m := range append(s.take(), s.ticks(idleTicks)...) {
		if m.Chosen != 1 {
			t.Fatalf("advertised %d", m.Chosen)
		}
	}
	l := s.one(s.step(Message{Kind: KindFetch, From: 3, Slot: 1}), KindLearn)
	if l.Chosen != 1 || len(l.Entries) != 1 {
		t.Fatalf("learn %+v", l)
	}
	s.none(s.step(Message{Kind: KindFetch, From: 3, Slot: 2}), KindLearn, "not applied yet")
	mustPanic(t, "applying what is not chosen", func() { s.Applied(3) })
}

// Confirm: "a quorum […] (distinct ids, own acceptor included) confirms promised ≤ b".
func TestConfirmNeedsAQuorumOfDistinctVoters(t *testing.T) {
	s := leading(t, 5)
	r := s.Confirm()
	if c := only(s.take(), KindConfirm); len(c) != 4 || c[0].Round != r || c[0].Ballot != s.Ballot() {
		t.Fatalf("confirms %+v", c)
	}
	yes := func(from ballot.NodeID, b ballot.Ballot, round uint64) {
		s.step(Message{Kind: KindConfirmed, From: from, Ballot: b, Round: round})
	}
	yes(2, s.Ballot(), r)
	yes(2, s.Ballot(), r)
	yes(9, s.Ballot(), r)
	yes(3, by(1, 0), r)
	yes(3, s.Ballot(), r+1)
	if s.ConfirmedRound() != 0 {
		t.Fatal("confirmed by two of five")
	}
	yes(3, s.Ballot(), r)
	if s.ConfirmedRound() != r {
		t.Fatal("not confirmed by three of five")
	}
	one := leading(t, 1)
	if r := one.Confirm(); one.ConfirmedRound() != r {
		t.Fatal("a single voter confirms itself")
	}
}

// Confirm: "a read never joins a round already sent". Every Confirm is a new round, and an answer to an earlier round
// does not answer it; an answer to a later one answers the earlier.
func TestConfirmRoundsDoNotJoin(t *testing.T) {
	s := leading(t, 3)
	r1, r2 := s.Confirm(), s.Confirm()
	if r2 <= r1 {
		t.Fatalf("rounds %d, %d", r1, r2)
	}
	s.step(Message{Kind: KindConfirmed, From: 2, Ballot: s.Ballot(), Round: r1})
	if s.ConfirmedRound() != r1 {
		t.Fatalf("confirmed %d", s.ConfirmedRound())
	}
	r3 := s.Confirm()
	s.step(Message{Kind: KindConfirmed, From: 3, Ballot: s.Ballot(), Round: r3})
	if s.ConfirmedRound() != r3 {
		t.Fatalf("confirmed %d", s.ConfirmedRound())
	}
}

// Confirm is answered only while nothing above the ballot was promised, durable or not; a round does not outlive its
// ballot.
func TestConfirmRefusedAfterAHigherPromise(t *testing.T) {
	s := follower(t)
	ask := Message{Kind: KindConfirm, From: 2, Ballot: by(2, 1), Round: 7}
	if c := s.one(s.step(ask), KindConfirmed); c.Round != 7 || c.Ballot != by(2, 1) {
		t.Fatalf("confirmed %+v", c)
	}
	s.step(prepare(by(3, 2), 1))
	if r := s.one(s.step(ask), KindReject); r.Promised != by(3, 2) {
		t.Fatalf("rejection %+v", r)
	}

	l := leading(t, 3)
	r := l.Confirm()
	old := l.Ballot()
	l.step(prepare(by(3, 50), 1))
	l.step(Message{Kind: KindConfirmed, From: 2, Ballot: old, Round: r})
	if l.ConfirmedRound() != 0 {
		t.Fatal("confirmed although the own acceptor promised more")
	}
	l.lead()
	l.step(Message{Kind: KindConfirmed, From: 2, Ballot: old, Round: r})
	if l.ConfirmedRound() != 0 {
		t.Fatal("an answer to the former ballot was counted")
	}

	// The own acceptor is asked at the moment of counting, whatever else ends a leader that promised more.
	one := leading(t, 1)
	one.acceptor.promised = by(1, 50)
	if one.Confirm(); one.ConfirmedRound() != 0 {
		t.Fatal("confirmed without the own acceptor")
	}
}

// Leaders speak for themselves: a ballot names its node.
func TestForeignAndMalformedMessagesAreIgnored(t *testing.T) {
	for name, m := range map[string]Message{
		"nobody":           {Kind: KindFetch, Slot: 1},
		"itself":           {Kind: KindPrepare, From: 1, Ballot: by(1, 5), Slot: 1},
		"another's ballot": {Kind: KindPrepare, From: 2, Ballot: by(3, 5), Slot: 1},
		"no ballot":        {Kind: KindPrepare, From: 2, Slot: 1},
		"slot zero":        {Kind: KindPrepare, From: 2, Ballot: by(2, 5)},
		"unknown kind":     {Kind: 99, From: 2, Ballot: by(2, 5)},
		"no kind":          {From: 2},
		"endless counter":  {Kind: KindPrepare, From: 2, Ballot: by(2, 1<<63), Slot: 1},
		"jump":             {Kind: KindPrepare, From: 2, Ballot: by(2, maxJump+1), Slot: 1},
		"jump of a promise": {Kind: KindReject, From: 2, Ballot: by(1, 1),
			Promised: by(3, maxJump+1)},
		"jump in an entry": {Kind: KindLearn, From: 2, Entries: entries(by(2, maxJump+1), 1, "a"), Chosen: 1},
		"endless slot":     {Kind: KindMark, From: 2, Ballot: by(2, 5), Chosen: 1 << 63},
		"empty accept":     {Kind: KindAccept, From: 2, Ballot: by(2, 5)},
		"gap in accept": {Kind: KindAccept, From: 2, Ballot: by(2, 5),
			Entries: append(entries(by(2, 5), 1, "a"), entries(by(2, 5), 3, "c")...)},
		"other ballot in accept": {Kind: KindAccept, From: 2, Ballot: by(2, 5), Entries: entries(by(2, 4), 1, "a")},
		"accept of slot zero":    {Kind: KindAccept, From: 2, Ballot: by(2, 5), Entries: entries(by(2, 5), 0, "a")},
		"empty learn":            {Kind: KindLearn, From: 2, Chosen: 1},
		"page out of order": {Kind: KindPromise, From: 2, Ballot: by(1, 1), Slot: 2,
			Entries: entries(by(2, 0), 1, "a"), Last: true},
		"empty page, not last":   {Kind: KindPromise, From: 2, Ballot: by(1, 1), Slot: 1},
		"reply about another":    {Kind: KindAccepted, From: 2, Ballot: by(2, 1), Slot: 1, Through: 1},
		"slot beyond all":        {Kind: KindMark, From: 2, Ballot: by(2, 5), Slot: maxNumber},
		"through beyond all":     {Kind: KindMark, From: 2, Ballot: by(2, 5), Through: maxNumber},
		"chosen beyond all":      {Kind: KindMark, From: 2, Ballot: by(2, 5), Chosen: maxNumber},
		"truncated beyond all":   {Kind: KindMark, From: 2, Ballot: by(2, 5), Truncated: maxNumber},
		"gone and not truncated": {Kind: KindGone, From: 2, Slot: 5, Truncated: 4},
		"gone of slot zero":      {Kind: KindGone, From: 2, Truncated: 4},
		"reversed range":         {Kind: KindAccepted, From: 2, Ballot: by(1, 1), Slot: 2, Through: 1},
	} {
		s := follower(t)
		before := s.AppendState(nil)
		if sent := s.step(m); len(sent)+len(s.sync()) != 0 || !bytes.Equal(s.AppendState(nil), before) {
			t.Errorf("%s: sent %+v, promised %v", name, sent, s.Promised())
		}
	}
	s := follower(t)
	before := s.AppendState(nil)
	m := prepare(by(2, 5), 1)
	m.To = 3
	if err := s.Step(m); err != nil || !bytes.Equal(s.AppendState(nil), before) {
		t.Errorf("a message for another node: promised %v, %v", s.Promised(), err)
	}
	// Of an Accept far ahead only the mark is heeded.
	sent := s.step(Message{Kind: KindAccept, From: 2, Ballot: by(2, 5), Entries: entries(by(2, 5), maxAhead+1, "a")})
	if len(sent)+len(s.sync()) != 0 || len(s.values()) != 0 || !s.Promised().IsZero() {
		t.Errorf("an Accept far ahead: sent %+v, promised %v", sent, s.Promised())
	}
}

func equalEntry(a, b Entry) bool {
	return a.Slot == b.Slot && a.Ballot == b.Ballot && string(a.Value) == string(b.Value)
}
