package replica

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/multipaxos"
)

const ms = time.Millisecond

// answering returns the policy of node 1 among voters whose answers have taken so long.
func answering(took map[ballot.NodeID]time.Duration) *prompt {
	x := &prompt{}
	voters := quorum.Of(1)
	for id := range took {
		voters.Add(id)
	}
	x.follow(1, voters)
	for i := range x.peers {
		for range 200 {
			x.peers[i].took(took[x.peers[i].node])
		}
	}
	return x
}

func (x *prompt) voters() quorum.Set {
	voters := quorum.Of(1)
	for i := range x.peers {
		voters.Add(x.peers[i].node)
	}
	return voters
}

func anybody(ballot.NodeID) bool { return true }

// expectNamed has x choose, and fails unless it chooses these nodes.
func expectNamed(t *testing.T, why string, x *prompt, now time.Duration, may func(ballot.NodeID) bool,
	want ...ballot.NodeID) {
	t.Helper()
	if x.named = x.choose(now, 1, x.voters(), may); x.named != quorum.Of(want...) {
		t.Errorf("%s: %v are named, want %v", why, x.named, quorum.Of(want...))
	}
}

// Just enough voters for a quorum are named: those that answer soonest. One keeps its place unless another is much
// quicker, or is as quick and asked by clients.
func TestWhoIsNamed(t *testing.T) {
	x := answering(map[ballot.NodeID]time.Duration{2: 3 * ms, 3: 2 * ms})
	expectNamed(t, "the soonest of two", x, 0, anybody, 3)
	x.peer(2).usual = ms
	expectNamed(t, "another is a little quicker", x, 0, anybody, 3)
	x.peer(2).usual = ms / 2
	expectNamed(t, "another is much quicker", x, 0, anybody, 2)
	x.peer(3).usual = ms / 2
	x.asked(3, 1)
	expectNamed(t, "clients ask the other one", x, 0, anybody, 3)
	expectNamed(t, "it may not", x, 0, func(id ballot.NodeID) bool { return id != 3 }, 2)
	expectNamed(t, "nobody may", x, 0, func(ballot.NodeID) bool { return false })

	five := answering(map[ballot.NodeID]time.Duration{2: 9 * ms, 3: 2 * ms, 4: 8 * ms, 5: ms})
	expectNamed(t, "of four", five, 0, anybody, 3, 5)
	expectNamed(t, "too few of four", five, 0, func(id ballot.NodeID) bool { return id == 3 })
}

// An answer is late after twice the time within which nearly all have come. Then another is named, until none of that
// voter's has been late for a while.
func TestAVoterThatIsLateIsNotNamed(t *testing.T) {
	x := answering(map[ballot.NodeID]time.Duration{2: 3 * ms, 3: 4 * ms})
	expectNamed(t, "before", x, 0, anybody, 2)
	x.sends(sec, accepts(2, 7))
	if at := x.due(); at != sec+6*ms {
		t.Fatalf("late at %v", at)
	}
	if x.late(sec + 5*ms) {
		t.Fatal("late too soon")
	}
	if !x.late(sec+6*ms) || x.hurried != 1 {
		t.Fatal("not late")
	}
	expectNamed(t, "late", x, sec+6*ms, anybody, 3)
	if x.late(sec+7*ms) || x.due() != 0 {
		t.Fatal("who is not named is waited for")
	}
	x.acknowledged(sec+30*ms, &multipaxos.Message{From: 2, Through: 7})
	x.peer(2).usual = ms / 2 // else the other keeps its place
	expectNamed(t, "late a moment ago", x, sec+500*ms, anybody, 3)
	expectNamed(t, "late long ago", x, sec+7*ms+quickFor, anybody, 2)

	x.sends(3*sec, accepts(2, 8))
	x.forget(2)
	if x.due() != 0 {
		t.Fatal("an answer is awaited on a connection that is gone")
	}
}

// The bound on an answer follows the voter's own answers, between two limits.
func TestWhenAnAnswerIsLate(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{ms / 10: hedgeLeast, 3 * ms: 6 * ms, sec: hedgeMost} {
		x := answering(map[ballot.NodeID]time.Duration{2: took})
		x.named = quorum.Of(2)
		if x.sends(sec, accepts(2, 1)); x.due() != sec+want {
			t.Errorf("answers take %v: late after %v, want %v", took, x.due()-sec, want)
		}
	}
	x := answering(map[ballot.NodeID]time.Duration{2: ms})
	x.named = quorum.Of(2)
	a := x.peer(2)
	for range 3 {
		a.took(5 * ms)
	}
	for a.taken%32 != 0 {
		a.took(ms)
	}
	if x.sends(sec, accepts(2, 1)); x.due() != sec+10*ms {
		t.Errorf("some answers take longer: late after %v", x.due()-sec)
	}
	for s := range multipaxos.Slot(2 * len(a.sent)) { // more than are noted
		x.sends(2*sec, accepts(2, 2+s))
	}
	if x.acknowledged(2*sec, &multipaxos.Message{From: 2, Through: 200}); x.due() != 0 {
		t.Error("all is acknowledged")
	}
}

// accepts is what leaves for a node with the entry of a slot.
func accepts(to ballot.NodeID, s multipaxos.Slot) []multipaxos.Message {
	return []multipaxos.Message{{Kind: multipaxos.KindAccept, To: to, Entries: []multipaxos.Entry{{Slot: s}}}}
}

// prompting is the bench of a ready master of three that has named node 2.
func prompting(t *testing.T) (*bench, Published) {
	t.Helper()
	b := newBench(t, 1, 2, 3)
	p := b.lead(tenure(1, time.Hour))
	for _, id := range []ballot.NodeID{2, 3} {
		b.give(Event{Up: id})
		b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: id, Heartbeat: Heartbeat{Space: SpaceEnough}}})
	}
	b.request(4, time.Hour) // the first entry on a new connection does not wait
	b.run(10*ms, p)
	b.acceptAll()
	b.log.prompt.asked(2, 1)
	for i := range b.log.prompt.peers {
		b.log.prompt.peers[i].taken = 0
		for range 200 {
			b.log.prompt.peers[i].took(ms)
		}
	}
	b.sync()
	b.tick(20*ms, p)
	b.settle(30*ms, p)
	if b.log.prompt.named != quorum.Of(2) {
		t.Fatalf("%v are named", b.log.prompt.named)
	}
	b.sent = nil
	return b, p
}

// acceptAll answers all Accepts that were sent; the next round hears of it.
func (b *bench) acceptAll() {
	for _, m := range b.sent {
		if m.Kind == multipaxos.KindAccept {
			b.give(Event{Log: &multipaxos.Message{Kind: multipaxos.KindAccepted, From: m.To, To: 1, Ballot: m.Ballot,
				Slot: m.Entries[0].Slot, Through: m.Entries[len(m.Entries)-1].Slot}})
		}
	}
	b.sent = nil
}

// sentTo reports whether entries were sent to a node.
func (b *bench) sentTo(id ballot.NodeID) bool {
	for _, m := range b.sent {
		if m.Kind == multipaxos.KindAccept && m.To == id {
			return true
		}
	}
	return false
}

// What a master proposes goes to the voters that it has named, and to the others when that may not do.
func TestTheOthersAreSentWhatIsProposed(t *testing.T) {
	for _, c := range []struct {
		name string
		does func(b *bench, p Published)
		next ballot.NodeID // who is named then; 0: nobody
	}{
		{"with a tick", func(b *bench, p Published) { b.tick(51*ms, p) }, 2},
		{"if an answer is late", func(b *bench, p Published) {
			if at := b.log.HedgeAt(); at != 52*ms {
				b.t.Errorf("a round is wanted at %v", at)
			}
			b.run(b.log.HedgeAt(), p)
		}, 3},
		{"if the connection breaks", func(b *bench, p Published) {
			b.give(Event{Down: 2})
			b.run(51*ms, p)
		}, 3},
		{"if a client reads there", func(b *bench, p Published) {
			b.give(Event{Peer: &Message{Kind: KindReadPoint, From: 3, Read: ReadPoint{ID: 1}}})
			b.run(51*ms, p)
		}, 2},
		{"if the node hands over", func(b *bench, p Published) {
			b.give(Event{Call: func(time.Duration) { b.log.HandOver(true) }})
			b.run(51*ms, p)
		}, 0},
	} {
		b, p := prompting(t)
		b.request(5, time.Hour)
		b.run(50*ms, p)
		if !b.sentTo(2) || b.sentTo(3) {
			t.Fatalf("%s: sent %+v", c.name, b.sent)
		}
		b.sent = nil
		c.does(b, p)
		if !b.sentTo(3) {
			t.Errorf("%s: node 3 was sent %+v", c.name, b.sent)
		}
		want := quorum.Of(c.next)
		if c.next == 0 {
			want = quorum.Set{}
		}
		if b.log.prompt.named != want {
			t.Errorf("%s: then %v are named", c.name, b.log.prompt.named)
		}
	}
}

// Voters without space are not named: they would not vote.
func TestAVoterWithoutSpaceIsNotNamed(t *testing.T) {
	b, p := prompting(t)
	b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 2, Heartbeat: Heartbeat{Space: SpaceLow}}})
	b.tick(60*ms, p)
	if b.log.prompt.named != quorum.Of(3) {
		t.Errorf("%v are named", b.log.prompt.named)
	}
}

// What was sent as a former leader is awaited no more.
func TestAFormerLeaderAwaitsNothing(t *testing.T) {
	b, p := prompting(t)
	b.request(5, time.Hour)
	b.run(50*ms, p)
	if b.log.HedgeAt() == 0 {
		t.Fatal("no answer is awaited")
	}
	b.run(51*ms, tenure(2, time.Hour))
	if at := b.log.prompt.due(); at != 0 {
		t.Errorf("an answer is awaited until %v", at)
	}
}
