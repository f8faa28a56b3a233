package replica

import (
	"slices"
	"testing"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica/snapshots"
)

// stranger is a node that none of the memberships of a bench lists.
const stranger ballot.NodeID = 7

// outsidersLog is one message of each kind that an outsider may send in the hope of something.
func outsidersLog(from ballot.NodeID) map[string]*multipaxos.Message {
	b := ballot.New(9, ballot.Incarnation{Node: from, Restart: 1, Nonce: 1})
	entries := []multipaxos.Entry{{Slot: 1, Ballot: b}}
	return map[string]*multipaxos.Message{
		"Prepare":   {Kind: multipaxos.KindPrepare, Ballot: b, Slot: 1},
		"Accept":    {Kind: multipaxos.KindAccept, Ballot: b, Entries: entries},
		"Heartbeat": {Kind: multipaxos.KindMark, Ballot: b},
		"Confirm":   {Kind: multipaxos.KindConfirm, Ballot: b, Round: 1},
		"Fetch":     {Kind: multipaxos.KindFetch, Slot: 1},
	}
}

// A stranger gets no answer to its messages of the log, and no promise or vote, even if it is believed.
func TestAStrangerTakesNoPartInTheLog(t *testing.T) {
	for name, m := range outsidersLog(stranger) {
		for _, others := range [][]ballot.NodeID{nil, {2}} {
			b := newBench(t, 1, 2, 3)
			b.chooses(t)
			b.meet(others...)
			b.give(Event{Up: stranger})
			b.run(sec, Published{})
			b.sync()
			b.sent, b.messages = nil, nil
			m.From, m.To = stranger, 1
			before := b.log.core.Promised()
			b.give(Event{Log: m})
			for range 3 {
				b.run(sec, Published{})
				b.sync()
			}
			if got := b.log.core.Promised(); got != before || len(b.sent) > 0 {
				t.Errorf("%s, others connected %v: promised %v, sent %+v", name, others, got, b.sent)
			}
		}
	}
}

// chooses has the log of a follower hold an entry that is chosen and applied, as node 2 proposed it.
func (b *bench) chooses(t *testing.T) {
	t.Helper()
	e := []multipaxos.Entry{{Slot: 1, Ballot: ballot.New(1, ballot.Incarnation{Node: 2, Restart: 1, Nonce: 1})}}
	b.give(Event{Log: &multipaxos.Message{Kind: multipaxos.KindLearn, From: 2, To: 1, Entries: e, Chosen: 1}})
	for range 3 {
		b.run(sec, Published{})
		b.sync()
	}
	if b.state.Applied() != 1 {
		t.Fatalf("applied %d", b.state.Applied())
	}
}

// meet connects members, who say that they go by the first membership.
func (b *bench) meet(nodes ...ballot.NodeID) {
	for _, id := range nodes {
		b.give(Event{Up: id})
		b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: id, To: 1, Heartbeat: Heartbeat{Membership: 1}}})
	}
}

// A master takes no write and gives no read point to a stranger.
func TestAStrangerIsForwardedNothing(t *testing.T) {
	b := newBench(t, 1, 2)
	p := b.lead(tenure(1, 90*sec))
	b.give(Event{Up: stranger})
	b.run(sec, p)
	b.messages = nil
	before := b.state.Applied()
	cmd := set("owned", "by a stranger")
	b.give(Event{Peer: &Message{Kind: KindForward, From: stranger, To: 1,
		Writes: []Write{{ID: 7, Command: kv.EncodeCommand(&cmd), Wait: sec}}}})
	b.give(Event{Peer: &Message{Kind: KindReadPoint, From: stranger, To: 1, Read: ReadPoint{ID: 5}}})
	for range 5 {
		b.run(sec, p)
		b.sync()
		b.answerAsPeer()
	}
	if b.state.Applied() != before || len(b.log.queue.items) > 0 {
		t.Errorf("its write was taken: applied %d after %d", b.state.Applied(), before)
	}
	if slices.ContainsFunc(b.messages, func(m Message) bool { return m.To == stranger && m.Kind != KindHeartbeat }) {
		t.Errorf("told %+v", b.messages)
	}
}

// A stranger that says it is the master is not believed, whatever its epoch.
func TestAStrangerIsNotTheMaster(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	b.give(Event{Up: stranger})
	b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: stranger, To: 1,
		Heartbeat: Heartbeat{Master: true, Epoch: 1 << 40, LeaseLeft: sec, Membership: 9}}})
	b.run(sec, Published{})
	if got := b.log.Position().Master; got != 0 {
		t.Fatalf("the master is node %d", got)
	}
}

// A node that hears from a majority of its voters that they know no newer membership learns nothing from a stranger.
func TestAStrangerIsBelievedOnlyWithoutTheMajority(t *testing.T) {
	for _, c := range []struct {
		others []ballot.NodeID
		newer  bool // they go by a newer membership
		ticks  uint64
		want   bool
	}{
		{others: nil, ticks: believeTicks, want: true},
		{others: nil, ticks: believeTicks - 1, want: false}, // right after the start
		{others: []ballot.NodeID{2}, ticks: believeTicks, want: false},
		{others: []ballot.NodeID{2, 3}, ticks: believeTicks, want: false},
		{others: []ballot.NodeID{2, 3}, newer: true, ticks: believeTicks, want: true},
	} {
		b := newBench(t, 1, 2, 3)
		b.meet(c.others...)
		for _, id := range c.others {
			if c.newer {
				b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: id, To: 1, Heartbeat: Heartbeat{Membership: 2}}})
			}
		}
		b.give(Event{Up: stranger})
		b.run(sec, Published{})
		b.log.ticks = c.ticks
		b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: stranger, To: 1, Heartbeat: Heartbeat{Applied: 1}}})
		b.run(sec, Published{})
		asked := slices.ContainsFunc(b.sent, func(m multipaxos.Message) bool {
			return m.Kind == multipaxos.KindFetch && m.To == stranger
		})
		e := []multipaxos.Entry{{Slot: 1, Ballot: ballot.New(1, ballot.Incarnation{Node: 2, Restart: 1, Nonce: 1})}}
		b.give(Event{Log: &multipaxos.Message{Kind: multipaxos.KindLearn, From: stranger, To: 1, Entries: e, Chosen: 1}})
		b.run(sec, Published{})
		st := b.log.Status(sec)
		learned := st.Chosen == 1
		offered := slices.ContainsFunc(st.SnapshotView().Peers, func(p snapshots.Peer) bool { return p.Node == stranger })
		if asked != c.want || learned != c.want || offered != c.want {
			t.Errorf("with %v connected, newer %v: asked %v, learned %v, offered for a snapshot %v", c.others, c.newer,
				asked, learned, offered)
		}
	}
}

// A stranger that truncated what is missing here is asked for a snapshot, if no member has one.
func TestAStrangerGivesASnapshot(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	b.log.ticks = believeTicks
	b.give(Event{Up: stranger})
	for range 4 {
		b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: stranger, To: 1, Heartbeat: Heartbeat{Applied: 90}}})
		b.give(Event{Log: &multipaxos.Message{Kind: multipaxos.KindGone, From: stranger, To: 1, Slot: 1, Truncated: 80}})
		b.tick(sec, Published{})
	}
	v := new(b.log.Status(sec)).SnapshotView()
	if !v.Behind {
		t.Fatal("it is not behind")
	}
	if got := askedFirst(v); got != stranger {
		t.Fatalf("asks node %d", got)
	}
	v.Peers = append(v.Peers, snapshots.Peer{Node: 2, Connected: true, Applied: 1})
	if got := askedFirst(v); got != 2 {
		t.Fatalf("asks node %d, and node 2 is a member that is ahead", got)
	}
}

// A former member is not asked by others for nothing: its answers are taken, and its questions are not.
func TestAFormerMemberAnswersOnly(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	r := b.without(3)
	b.follows(r)
	b.run(sec, Published{})
	st := b.log.Status(sec)
	for id, want := range map[ballot.NodeID]bool{2: true, 3: false, r.NextNode: false} {
		if st.Lists(id) != want {
			t.Errorf("node %d is listed: %v", id, !want)
		}
	}
	b.log.ticks += believeTicks
	e := []multipaxos.Entry{{Slot: b.log.core.Chosen() + 1, Ballot: ballot.New(1, ballot.Incarnation{Node: 2, Restart: 1, Nonce: 1})}}
	chosen := b.log.core.Chosen()
	b.give(Event{Log: &multipaxos.Message{Kind: multipaxos.KindLearn, From: 3, To: 1, Entries: e, Chosen: e[0].Slot}})
	if b.again(); b.log.core.Chosen() != chosen {
		t.Error("it is believed")
	}
	before := b.log.core.Promised()
	for name, m := range outsidersLog(3) {
		m.From, m.To = 3, 1
		b.sent = nil
		b.give(Event{Log: m})
		for range 3 {
			b.again()
			b.sync()
		}
		if got := b.log.core.Promised(); got != before || len(b.sent) > 0 {
			t.Errorf("%s: promised %v, sent %+v", name, got, b.sent)
		}
	}
	for _, k := range []MessageKind{KindForward, KindReadPoint, KindForwarded, KindReadPointR} {
		answer := k == KindForwarded || k == KindReadPointR
		if b.log.members.takes(&Message{Kind: k, From: 3}) != answer || b.log.members.takes(&Message{Kind: k, From: stranger}) {
			t.Errorf("kind %d of a former member is taken: %v, or it is taken of a stranger", k, !answer)
		}
	}
}

// The promise of a former member is counted: slots below its removal are decided with it.
func TestThePromiseOfAFormerMemberCounts(t *testing.T) {
	for _, former := range []bool{true, false} {
		b := newBench(t, 1, 2)
		p := tenure(1, 90*sec)
		b.run(sec, p)
		b.sync()
		b.run(sec, p)
		if !slices.ContainsFunc(b.sent, func(m multipaxos.Message) bool { return m.Kind == multipaxos.KindPrepare }) {
			t.Fatal("it asks nobody")
		}
		// Node 2 is in no membership any more that is known here, as if a snapshot had brought the newest one.
		b.log.members.follow(ident.Membership{Number: 2, Members: b.log.members.newest.Members[:1]}, 3)
		if !former {
			b.log.members.next = 2
		}
		b.answerAsPeer()
		b.run(sec, p)
		if got := b.log.core.Phase() == multipaxos.Leading; got != former {
			t.Errorf("a former member: %v, leads: %v", former, got)
		}
	}
}

// A member with a newer membership is asked for chosen entries, even without a leader. An election may need this node's
// vote, and the node votes under that membership only once it knows it.
func TestAMemberThatIsAheadIsAsked(t *testing.T) {
	for _, c := range []struct {
		membership, applied uint64
		want                bool
	}{{2, 1, true}, {1, 1, false}, {2, 0, false}} {
		b := newBench(t, 1, 2, 3)
		b.give(Event{Up: 2})
		b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 2, To: 1,
			Heartbeat: Heartbeat{Membership: c.membership, Applied: c.applied}}})
		b.run(sec, Published{})
		asked := slices.ContainsFunc(b.sent, func(m multipaxos.Message) bool {
			return m.Kind == multipaxos.KindFetch && m.To == 2
		})
		if asked != c.want {
			t.Errorf("%+v: asked %v", c, asked)
		}
	}
}
