package multipaxos

import "testing"

// fullFollower has no space for values that begin with "+", and after full NeedReserve none for those with "-".
func fullFollower(t *testing.T, least Need) *solo {
	s := follower(t)
	s.cfg.NeedOf = func(v []byte) Need {
		switch {
		case len(v) > 0 && v[0] == '+':
			return NeedSpace
		case len(v) > 0 && v[0] == '-':
			return NeedReserve
		}
		return NeedNothing
	}
	s.SetSpace(least, false)
	return s
}

func TestFullAcceptorVotesForWhatItStoresAlone(t *testing.T) {
	b := by(2, 1)
	for _, r := range []struct {
		name    string
		least   Need
		values  []string
		through Slot // 0: no answer
	}{
		{"space for all", NeedNothing, []string{"+a", "-b"}, 2},
		{"what frees, and a no-op", NeedSpace, []string{"-a", "", "-b"}, 3},
		{"a vote ends before what needs space", NeedSpace, []string{"-a", "+b", "-c"}, 1},
		{"no vote", NeedSpace, []string{"+a", "-b"}, 0},
		{"nothing but a barrier", NeedReserve, []string{"o", "-b"}, 1},
		{"not even what frees", NeedReserve, []string{"-a"}, 0},
	} {
		s := fullFollower(t, r.least)
		sent := append(s.step(accept(b, 0, 1, r.values...)), s.sync()...)
		if r.through == 0 {
			s.none(sent, KindAccepted, r.name)
		} else if m := s.one(sent, KindAccepted); m.Slot != 1 || m.Through != r.through {
			t.Errorf("%s: %+v", r.name, m)
		}
		if got := Slot(len(s.disk.entries)); got != r.through {
			t.Errorf("%s: %d entries are on the disk", r.name, got)
		}
	}
}

func TestFullAcceptorPromisesAndVotesBehindAGap(t *testing.T) {
	s := fullFollower(t, NeedSpace)
	s.step(accept(by(2, 1), 0, 1, "+a"))
	if m := s.one(append(s.step(accept(by(2, 1), 1, 2, "-b")), s.sync()...), KindAccepted); m.Slot != 2 || m.Chosen != 0 {
		t.Errorf("%+v", m)
	}
	p := s.one(append(s.step(prepare(by(3, 2), 1)), s.sync()...), KindPromise)
	if len(p.Entries) != 1 || p.Entries[0].Slot != 2 {
		t.Errorf("promise %+v", p)
	}
	// The new leader may have to have the value of slot 2 voted for again: it is here already.
	s.one(append(s.step(accept(by(3, 2), 0, 2, "-b")), s.sync()...), KindAccepted)
}

func TestFullLearnerAsksAgainOnceItHasSpace(t *testing.T) {
	s := fullFollower(t, NeedSpace)
	learn := Message{Kind: KindLearn, From: 2, Chosen: 3, Entries: entries(by(2, 1), 1, "-a", "+b", "-c")}
	s.step(learn)
	s.sync()
	if s.Chosen() != 1 || len(s.disk.entries) != 1 {
		t.Fatalf("chosen %d, %d entries on the disk", s.Chosen(), len(s.disk.entries))
	}
	s.none(s.ticks(10), KindFetch, "what cannot be stored")
	s.SetSpace(NeedNothing, false)
	if f := s.one(s.ticks(1), KindFetch); f.Slot != 2 {
		t.Fatalf("%+v", f)
	}
	s.step(learn)
	if s.Chosen() != 3 {
		t.Fatalf("chosen %d", s.Chosen())
	}
}

// An entry that was refused may be learned in another way: of a promise, or with a jam. Then others can be asked for.
func TestFullLearnerAsksForWhatComesAfterTheRefused(t *testing.T) {
	s := fullFollower(t, NeedSpace)
	s.step(Message{Kind: KindLearn, From: 2, Chosen: 1, Entries: entries(by(2, 1), 1, "+a")})
	s.sync()
	s.acceptor.learn(Entry{Slot: 1, Ballot: by(2, 1), Value: []byte("+a")})
	s.sync()
	s.step(Message{Kind: KindMark, From: 2, Ballot: by(2, 1), Chosen: 2})
	if f := s.one(s.ticks(fetchTicks), KindFetch); f.Slot != 2 {
		t.Fatalf("%+v", f)
	}
}

func TestShortOfSpaceKeepsNoTail(t *testing.T) {
	cfg := soloConfig()
	cfg.KeepEntries = 5
	s := leadingWith(t, cfg, 1)
	s.fill(8)
	s.Checkpointed(8)
	s.ticks(1)
	if s.Truncated() != 3 {
		t.Fatalf("truncated %d", s.Truncated())
	}
	s.SetSpace(NeedNothing, true)
	if s.ticks(1); s.Truncated() != 8 {
		t.Fatalf("short of space, truncated %d", s.Truncated())
	}
}

// Entries proposed while there was space must be chosen, or no later entry is. An acceptor that has refused one for
// long, and hears that it is not chosen yet, stores it in its reserve.
func TestFullAcceptorStoresWhatJamsTheLog(t *testing.T) {
	b := by(2, 1)
	for _, r := range []struct {
		name    string
		least   Need
		chosen  Slot // by the leader, when it asks again
		through Slot // that is voted for then; 0: no vote
	}{
		{"nothing was chosen", NeedSpace, 0, 4},
		{"chosen below", NeedSpace, 1, 4},
		{"chosen without this node", NeedSpace, 2, 0},
		{"no space but for promises", NeedReserve, 0, 0},
	} {
		s := fullFollower(t, r.least)
		row := accept(b, 0, 2, "+a", "-b", "+c")
		for range 3 {
			s.none(append(s.step(row), s.sync()...), KindAccepted, r.name)
			s.ticks(jamTicks/3 - 1)
		}
		s.ticks(jamTicks)
		row.Chosen = r.chosen
		if sent := append(s.step(row), s.sync()...); r.through == 0 {
			s.none(sent, KindAccepted, r.name)
		} else if m := s.one(sent, KindAccepted); m.Through != r.through {
			t.Errorf("%s: %+v", r.name, m)
		}
	}
}

// A leader's Mark tells as well as its Accepts what is chosen: the next leader, which does not know it yet, has nothing
// of it stored in the reserve.
func TestFullAcceptorStoresNoJamThatIsMarked(t *testing.T) {
	s := fullFollower(t, NeedSpace)
	s.none(append(s.step(accept(by(2, 1), 0, 2, "+b")), s.sync()...), KindAccepted, "refused")
	s.ticks(jamTicks)
	s.step(Message{Kind: KindMark, From: 2, Ballot: by(2, 1), Chosen: 2, Through: 2})
	s.none(append(s.step(accept(by(3, 2), 0, 2, "+b")), s.sync()...), KindAccepted, "marked as chosen")
}

// Entries that others have chosen meanwhile take no place in the reserve: they are learned once there is space.
func TestFullLearnerStoresNoJamThatIsChosen(t *testing.T) {
	s := fullFollower(t, NeedSpace)
	s.none(append(s.step(accept(by(2, 1), 0, 2, "+b")), s.sync()...), KindAccepted, "refused")
	s.ticks(jamTicks)
	s.step(Message{Kind: KindLearn, From: 2, Chosen: 2, Entries: entries(by(2, 1), 1, "-a", "+b")})
	s.sync()
	if s.Chosen() != 1 || len(s.disk.entries) != 1 {
		t.Fatalf("chosen %d, %d entries on the disk", s.Chosen(), len(s.disk.entries))
	}
}
