package multipaxos

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// What the log's memberships promise, one test a rule. The quoted lines are the rules' own words.

// membershipValue is the value of a membership entry in tests: an M, the number, the voters and the non-voters.
func membershipValue(m Membership) string {
	b := []byte{'M', byte(m.Number), byte(m.Voters.Len())}
	for _, id := range m.Voters.IDs() {
		b = binary.BigEndian.AppendUint16(b, uint16(id))
	}
	for _, id := range m.NonVoters {
		b = binary.BigEndian.AppendUint16(b, uint16(id))
	}
	return string(b)
}

func membershipOf(value []byte) (m Membership, ok bool) {
	if len(value) < 3 || value[0] != 'M' {
		return m, false
	}
	m.Number = uint64(value[1])
	for i := 3; i < len(value); i += 2 {
		id := ballot.NodeID(binary.BigEndian.Uint16(value[i:]))
		if i < 3+2*int(value[2]) {
			m.Voters.Add(id)
		} else {
			m.NonVoters = append(m.NonVoters, id)
		}
	}
	return m, true
}

// change is the value of membership number of these voters.
func change(number uint64, voters ...ballot.NodeID) string {
	return membershipValue(Membership{Number: number, Voters: quorum.Of(voters...)})
}

func memberConfig() Config {
	cfg := soloConfig()
	cfg.MembershipOf = membershipOf
	return cfg
}

// changing is node 1 of n, leading with an empty log, where memberships can change.
func changing(t *testing.T, n int) *solo { return leadingWith(t, memberConfig(), n) }

// change proposes a membership entry.
func (s *solo) change(value string) {
	s.t.Helper()
	if _, ok := s.ProposeMembership([]byte(value)); !ok {
		s.t.Fatalf("%q is not proposed", value)
	}
}

// promise is the last page of a promise to s that reports es.
func (s *solo) promise(from ballot.NodeID, newest uint64, es ...Entry) []Message {
	s.t.Helper()
	asked := Slot(0)
	if p := s.leader.peers.get(from); p != nil {
		asked = p.asked
	}
	return s.step(Message{Kind: KindPromise, From: from, Ballot: s.Ballot(), Slot: max(asked, 1), Entries: es, Last: true,
		Membership: newest})
}

// asked returns whom ms ask for a promise.
func asked(ms []Message) (ids []ballot.NodeID) {
	for _, m := range only(ms, KindPrepare) {
		ids = append(ids, m.To)
	}
	return ids
}

// "Slot i is decided by the newest membership in slots < i": a membership entry is decided by the one before it, and
// the next slot by its own.
func TestMembershipEntryIsDecidedByTheMembershipBefore(t *testing.T) {
	for name, c := range map[string]struct {
		before       int
		change       string
		first, other []ballot.NodeID // votes for the entry: too few, and then enough
		then, enough []ballot.NodeID // votes for the next slot
	}{
		"a voter goes": {3, change(2, 1, 2), nil, []ballot.NodeID{3}, []ballot.NodeID{3}, []ballot.NodeID{2}},
		"down to one":  {2, change(2, 1), nil, []ballot.NodeID{2}, nil, nil},
		"a voter comes": {3, change(2, 1, 2, 3, 4), []ballot.NodeID{4}, []ballot.NodeID{2}, []ballot.NodeID{4},
			[]ballot.NodeID{3}},
	} {
		s := changing(t, c.before)
		s.change(c.change)
		s.sync()
		for _, id := range c.first {
			s.accepted(id, 1, 1)
		}
		s.wantChosen(0, name+": the new membership decides about itself")
		for _, id := range c.other {
			s.accepted(id, 1, 1)
		}
		s.wantChosen(1, name+": the old membership decides")
		s.Applied(1)
		s.propose("x")
		s.take()
		for _, id := range c.then {
			s.accepted(id, 2, 2)
		}
		s.wantChosen(1, name+": the new membership decides what is above")
		s.sync()
		for _, id := range c.enough {
			s.accepted(id, 2, 2)
		}
		s.wantChosen(2, name+": by the new membership")
	}
}

// "It is proposed only after M4, when every lower slot is chosen and applied".
func TestMembershipEntryWaitsForAllBelow(t *testing.T) {
	try := func(s *solo, why string) {
		t.Helper()
		if _, ok := s.ProposeMembership([]byte(change(2, 1, 2))); ok {
			t.Fatalf("proposed: %s", why)
		}
	}
	try(newSolo(t, memberConfig(), base(3), newDisk()), "not leading")
	s := changing(t, 3)
	s.propose("x")
	try(s, "a slot is in flight")
	s.sync()
	s.accepted(2, 1, 1)
	try(s, "a slot is chosen and not applied")
	s.Applied(1)
	s.change(change(2, 1, 2))
}

// "nothing is proposed above it until it is chosen and applied."
func TestNothingIsProposedAboveAMembershipEntry(t *testing.T) {
	s := changing(t, 3)
	s.change(change(2, 1, 2, 3, 4))
	barred := func(why string) {
		t.Helper()
		if _, ok := s.Propose([]byte("x")); ok || s.MayPropose() {
			t.Fatalf("proposed above a membership entry that is %s", why)
		}
		if _, ok := s.ProposeMembership([]byte(change(3, 1, 2, 3))); ok {
			t.Fatalf("a second one was proposed above one that is %s", why)
		}
	}
	barred("in flight")
	s.sync()
	s.accepted(2, 1, 1)
	s.wantChosen(1, "two of three")
	barred("not applied")
	s.Applied(1)
	s.propose("x")
}

// One voter comes or goes at a time, and the number says so. A proposer of anything else is wrong about the state.
func TestMembershipChangesByOneVoter(t *testing.T) {
	for name, v := range map[string]string{
		"two voters":        change(2, 1, 2, 3, 4, 5),
		"one for another":   change(2, 1, 2, 4),
		"a number left out": change(3, 1, 2),
		"the same number":   change(1, 1, 2),
		"another number":    change(2, 1, 2, 3),
		"no membership":     "x",
	} {
		s := changing(t, 3)
		mustPanic(t, name, func() { s.ProposeMembership([]byte(v)) })
	}
	s := changing(t, 3)
	s.change(membershipValue(Membership{Number: 1, Voters: quorum.Of(1, 2, 3), NonVoters: []ballot.NodeID{4}}))
	mustPanic(t, "a membership entry by Propose", func() { changing(t, 3).Propose([]byte(change(2, 1, 2))) })
	mustPanic(t, "no voters", func() { changing(t, 1).ProposeMembership([]byte(change(2))) })
}

// "Promises carry the acceptor's newest stored membership", chosen or not; but not an unchosen one in a slot whose
// chosen value the leader knows.
func TestPromiseCarriesTheNewestMembership(t *testing.T) {
	newest := func(from, chosen Slot) uint64 {
		s := newSolo(t, memberConfig(), base(3), newDisk())
		s.step(accept(by(2, 1), chosen, 1, "a", change(2, 1, 2, 3, 4)))
		return s.one(append(s.step(prepare(by(3, 2), from)), s.sync()...), KindPromise).Membership
	}
	if n := newest(2, 0); n != 2 {
		t.Errorf("stored and not chosen: %d", n)
	}
	if n := newest(3, 2); n != 2 {
		t.Errorf("chosen: %d", n)
	}
	if n := newest(3, 1); n != 1 {
		t.Errorf("below what is asked for, and maybe never chosen: %d", n)
	}
}

// "A new leader needs a promise majority in every membership that governs a slot it repairs or proposes, including the
// newest": of one that only the reports know, too.
func TestPhaseOneNeedsEveryMembership(t *testing.T) {
	s := newSolo(t, memberConfig(), base(3), newDisk())
	s.Lead()
	if to := asked(s.sync()); !slices.Equal(to, []ballot.NodeID{2, 3}) {
		t.Fatalf("asks %v", to)
	}
	sent := s.promise(2, 2, Entry{Slot: 1, Ballot: by(2, 0), Value: []byte(change(2, 1, 2, 3, 4))})
	if s.Phase() != Preparing {
		t.Fatal("leads with two of four")
	}
	if to := asked(sent); !slices.Equal(to, []ballot.NodeID{4}) {
		t.Fatalf("meets membership 2 and asks %v", to)
	}
	s.promise(4, 2)
	if s.Phase() != Leading || s.Membership().Number != 2 || s.Last() != 1 {
		t.Fatalf("%v, membership %+v, last %d", s.Phase(), s.Membership(), s.Last())
	}
}

// "including the newest": a majority of the newest alone is not enough either, while slots below it are open.
func TestPhaseOneNeedsTheOlderMembership(t *testing.T) {
	d := newDisk()
	d.promised, d.last = by(2, 1), 1
	d.entries[1] = Entry{Slot: 1, Ballot: by(2, 1), Value: []byte(change(2, 1, 2, 3, 4))}
	s := newSolo(t, memberConfig(), base(3), d)
	s.Lead()
	if to := asked(s.sync()); !slices.Equal(to, []ballot.NodeID{2, 3, 4}) {
		t.Fatalf("asks %v", to)
	}
	s.promise(4, 2)
	if s.Phase() != Preparing {
		t.Fatal("leads with one of the three that decide slot 1")
	}
	s.promise(3, 1)
	if s.Phase() != Leading {
		t.Fatal("two of three and three of four")
	}
}

// "So a node two changes behind finds C+1 by intersection, then asks C+1, and so on."
func TestPhaseOneFollowsTheMembershipsThatItMeets(t *testing.T) {
	s := newSolo(t, memberConfig(), base(3), newDisk())
	s.Lead()
	s.sync()
	two := Entry{Slot: 1, Ballot: by(4, 0), Value: []byte(change(2, 1, 2, 3, 4))}
	three := Entry{Slot: 2, Ballot: by(4, 0), Value: []byte(change(3, 1, 2, 3, 4, 5))}
	four := Entry{Slot: 3, Ballot: by(4, 0), Value: []byte(change(4, 1, 2, 3, 4, 5, 6))}
	s.promise(2, 2, two)
	sent := s.promise(4, 4, two, three, four)
	if to := asked(sent); s.Phase() != Preparing || !slices.Equal(to, []ballot.NodeID{5, 6}) {
		t.Fatalf("%v, asks %v", s.Phase(), to)
	}
	s.promise(5, 4, two, three, four, Entry{Slot: 4, Ballot: by(5, 0), Value: []byte("x")})
	if s.Phase() != Leading || s.Membership().Number != 4 || s.values()[3] != "x" {
		t.Fatalf("%v %q", s.Phase(), s.values())
	}
}

// A promise that tells of a membership which no report has shown is no reason to lead: something is missing here.
func TestPhaseOneWaitsForTheMembershipThatPromisesName(t *testing.T) {
	s := newSolo(t, memberConfig(), base(3), newDisk())
	s.Lead()
	s.sync()
	s.promise(2, 2)
	if s.Phase() != Preparing {
		t.Fatal("leads though a voter knows a newer membership")
	}
}

// Not every entry in a log is chosen in the end: a membership entry that M3 does not propose again needs no promises of
// its voters.
func TestReplacedMembershipEntryIsForgotten(t *testing.T) {
	d := newDisk()
	d.promised, d.last = by(2, 1), 1
	d.entries[1] = Entry{Slot: 1, Ballot: by(2, 1), Value: []byte(change(2, 1, 2, 3, 4))}
	s := newSolo(t, memberConfig(), base(3), d)
	if s.Membership().Number != 2 {
		t.Fatalf("%+v", s.Membership())
	}
	s.Lead()
	s.sync()
	s.promise(3, 1, Entry{Slot: 1, Ballot: by(3, 1), Value: []byte("x")})
	if s.Phase() != Leading || s.Membership().Number != 1 {
		t.Fatalf("%v, %+v", s.Phase(), s.Membership())
	}
	if to := s.others; len(to) != 2 {
		t.Fatalf("peers %+v", to)
	}

	f := newSolo(t, memberConfig(), base(3), newDisk())
	f.step(accept(by(2, 1), 0, 1, "a", change(2, 1, 2, 3, 4)))
	f.step(accept(by(3, 2), 0, 2, change(2, 1, 2)))
	if m := f.Membership(); m.Voters != quorum.Of(1, 2) || m.Slot != 2 {
		t.Fatalf("%+v", m)
	}
	f.step(accept(by(3, 3), 0, 2, "b"))
	if m := f.Membership(); m.Number != 1 {
		t.Fatalf("%+v", m)
	}
}

// A leader that finds a membership entry proposes it again, and opens its epoch above it.
func TestBarrierComesAboveARecoveredMembershipEntry(t *testing.T) {
	s := newSolo(t, memberConfig(), base(3), newDisk())
	s.Lead()
	s.sync()
	s.promise(2, 2, Entry{Slot: 1, Ballot: by(2, 0), Value: []byte(change(2, 1, 2))})
	if s.Phase() != Leading || s.MayPropose() {
		t.Fatalf("%v", s.Phase())
	}
	s.sync()
	before := s.Pieces()
	s.accepted(2, 1, 1)
	s.wantChosen(1, "two of three")
	if s.Pieces() == before {
		t.Fatal("no progress is seen")
	}
	s.Applied(1)
	s.propose("barrier")
}

// Non-voters are sent the log like voters, and their votes and promises count for nothing.
func TestNonVotersFollowAndDoNotVote(t *testing.T) {
	s := changing(t, 3)
	s.change(membershipValue(Membership{Number: 1, Voters: quorum.Of(1, 2, 3), NonVoters: []ballot.NodeID{4, 5}}))
	s.sync()
	s.accepted(2, 1, 1)
	s.Applied(1)
	s.propose("x")
	sent := append(s.take(), s.sync()...)
	var to []ballot.NodeID
	for _, m := range only(sent, KindAccept) {
		to = append(to, m.To)
	}
	if !slices.Equal(to, []ballot.NodeID{2, 3, 4, 5}) {
		t.Fatalf("accepts to %v", to)
	}
	pieces := s.Pieces()
	s.accepted(4, 2, 2)
	s.accepted(5, 2, 2)
	s.wantChosen(1, "one voter and two non-voters")
	if s.Pieces() != pieces {
		t.Fatal("a non-voter's acknowledgement counts as progress")
	}
	s.none(s.ticks(maxResendTicks), KindPrepare, "leading")
	for _, m := range only(s.ticks(maxResendTicks), KindAccept) {
		if m.To == 4 {
			t.Fatalf("sent again to a non-voter that has acknowledged: %+v", m)
		}
	}
	s.Lead()
	if to := asked(s.sync()); !slices.Equal(to, []ballot.NodeID{2, 3}) {
		t.Fatalf("asks %v", to)
	}
	s.promise(4, 1)
	if s.Phase() != Preparing {
		t.Fatal("leads with a non-voter's promise")
	}
}

// More nodes than a membership has voters may acknowledge and promise: nobody's word is one too many.
func TestMoreNodesThanVoters(t *testing.T) {
	s := changing(t, 7)
	m := base(7)
	for id := ballot.NodeID(8); id <= 16; id++ {
		m.NonVoters = append(m.NonVoters, id)
	}
	s.change(membershipValue(m))
	s.sync()
	for id := ballot.NodeID(2); id <= 4; id++ {
		s.accepted(id, 1, 1)
	}
	s.Applied(1)
	s.propose("x")
	s.sync()
	for id := ballot.NodeID(8); id <= 16; id++ {
		s.accepted(id, 2, 2)
	}
	s.wantChosen(1, "non-voters")
	if s.Confirm(); len(only(s.take(), KindConfirm)) != 6 {
		t.Fatal("other than the six other voters are asked")
	}

	d := newDisk()
	d.promised = by(1, 1)
	for i, ids := range [][]ballot.NodeID{{1, 2, 3, 4}, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6, 7},
		{1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6, 8}, {1, 2, 3, 4, 5, 8}, {1, 2, 3, 4, 5, 8, 9}} {
		d.last = Slot(i + 1)
		d.entries[d.last] = entries(by(1, 1), d.last, change(uint64(i+2), ids...))[0]
	}
	s = newSolo(t, memberConfig(), base(3), d)
	s.Lead()
	s.sync()
	for id := ballot.NodeID(4); id <= 9; id++ {
		s.promise(id, 9)
	}
	if s.Phase() != Preparing {
		t.Fatal("leads with one of the first three")
	}
	s.promise(3, 9)
	if s.Phase() != Leading {
		t.Fatal("all but one have promised")
	}
}

// "a quorum of the newest applied membership […] confirms".
func TestConfirmGoesByTheNewestChosenMembership(t *testing.T) {
	s := changing(t, 3)
	s.change(change(2, 1, 2))
	s.sync()
	r := s.Confirm()
	s.step(Message{Kind: KindConfirmed, From: 3, Ballot: s.Ballot(), Round: r})
	if s.ConfirmedRound() != r {
		t.Fatal("the membership entry is not chosen, and node 3 is not asked")
	}
	s.accepted(3, 1, 1)
	s.Applied(1)
	r = s.Confirm()
	s.step(Message{Kind: KindConfirmed, From: 3, Ballot: s.Ballot(), Round: r})
	if s.ConfirmedRound() == r {
		t.Fatal("confirmed by a node that is no member")
	}
	s.step(Message{Kind: KindConfirmed, From: 2, Ballot: s.Ballot(), Round: r})
	if s.ConfirmedRound() != r {
		t.Fatal("not confirmed by both members")
	}
}

// "A removed node learns it": the leader tells it that the entry is chosen before it forgets it.
func TestRemovedNodeIsTold(t *testing.T) {
	s := changing(t, 3)
	s.change(change(2, 1, 2))
	s.sync()
	s.accepted(2, 1, 1)
	s.take()
	s.Applied(1)
	told := only(s.take(), KindMark)
	if !slices.ContainsFunc(told, func(m Message) bool { return m.To == 3 && m.Chosen == 1 }) {
		t.Fatalf("told %+v", told)
	}
	s.propose("x")
	for _, m := range append(s.take(), s.ticks(10)...) {
		if m.To == 3 {
			t.Fatalf("still talks to it: %+v", m)
		}
	}
	if l := s.one(s.step(Message{Kind: KindFetch, From: 3, Slot: 1}), KindLearn); l.Chosen != 1 {
		t.Fatalf("%+v", l)
	}
}

// A node that is behind takes the word of members that it has not heard of.
func TestMessagesOfUnknownMembersAreTaken(t *testing.T) {
	s := newSolo(t, memberConfig(), base(3), newDisk())
	s.one(append(s.step(accept(by(9, 5), 0, 1, "x")), s.sync()...), KindAccepted)
	s.one(append(s.step(prepare(by(8, 6), 1)), s.sync()...), KindPromise)
	f := s.one(s.step(Message{Kind: KindMark, From: 9, Ballot: by(9, 7), Chosen: 3, Through: 3}), KindFetch)
	if f.To != 9 {
		t.Fatalf("%+v", f)
	}
	l := changing(t, 3)
	l.propose("x")
	l.sync()
	for _, k := range []Kind{KindAccepted, KindPromise, KindMarkReply, KindConfirmed} {
		l.step(Message{Kind: k, From: 9, Ballot: l.Ballot(), Slot: 1, Through: 1, Last: true})
	}
	l.wantChosen(0, "a vote of no member")
}

// A restart finds the memberships in the log again: those above the state database's, chosen or not.
func TestMembershipsAreFoundAgain(t *testing.T) {
	d := newDisk()
	d.promised, d.chosen, d.last = by(2, 1), 3, 5
	for _, e := range entries(by(2, 1), 1, change(2, 1, 2, 3, 4), "x", change(3, 1, 2, 3), "y", change(4, 1, 2)) {
		d.entries[e.Slot] = e
	}
	cfg := memberConfig()
	cfg.PageBytes = 1
	s := newSolo(t, cfg, base(3), d)
	var numbers []uint64
	for i := Slot(1); i <= 6; i++ {
		numbers = append(numbers, s.acceptor.memberships.governing(i).Number)
	}
	if want := []uint64{1, 2, 2, 3, 3, 4}; !slices.Equal(numbers, want) {
		t.Fatalf("memberships %v, want %v", numbers, want)
	}
	later := base(3)
	later.Slot, later.Number = 3, 3
	s = newSolo(t, cfg, later, d)
	if len(s.acceptor.memberships.list) != 2 || s.Membership().Number != 4 {
		t.Fatalf("%+v", s.acceptor.memberships.list)
	}
	d.chosen = 0 // written late: the state database proves what is chosen
	later.Slot, later.Number = 4, 3
	s = newSolo(t, cfg, later, d)
	if ms := s.acceptor.memberships.list; len(ms) != 2 || ms[0].Slot != 4 || ms[1].Number != 4 {
		t.Fatalf("%+v", ms)
	}
	d.chosen = 3
	delete(d.entries, 2)
	if _, err := New(cfg, base(3), d.durable(), d); !errors.Is(err, ErrDamaged) {
		t.Fatalf("a chosen slot is missing: %v", err)
	}
	d.err = errors.New("no disk")
	if _, err := New(cfg, base(3), d.durable(), d); !errors.Is(err, d.err) {
		t.Fatalf("%v", err)
	}
}

// A node that knows no membership follows the log, asks whom it was told of, and leads nobody.
func TestNodeWithoutMembershipFollows(t *testing.T) {
	s := newSolo(t, memberConfig(), Membership{NonVoters: []ballot.NodeID{2, 3}}, newDisk())
	if m := s.others; len(m) != 2 {
		t.Fatalf("%+v", m)
	}
	s.Lead()
	s.sync()
	s.promise(2, 0)
	s.promise(3, 0)
	if s.Phase() != Preparing {
		t.Fatal("leads without knowing any voter")
	}
	s.Retire()
	s.step(Message{Kind: KindLearn, From: 2, Chosen: 1, Entries: entries(by(2, 1), 1, change(2, 1, 2, 3))})
	s.Applied(1)
	s.take()
	if s.Membership().Voters.Len() != 3 {
		t.Fatalf("%+v", s.Membership())
	}
	s.Lead()
	s.sync()
	s.promise(2, 2)
	if s.Phase() != Leading {
		t.Fatal("does not lead with two of three")
	}
}
