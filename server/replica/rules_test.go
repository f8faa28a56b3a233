package replica

import (
	"slices"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica/effect"
	"tenure/server/replica/elector"
)

// "win the lease; this opens a new epoch and forgets any earlier recovery … a gap, however short, decided from stored
// data and not by a timer, ends it" (M1).
func TestM1NewHoldingOpensANewEpoch(t *testing.T) {
	b := newBench(t, 1)
	p := b.settle(0, tenure(1, sec))
	first := b.out.Epoch
	if b.out.Ready != 1 || first == 0 {
		t.Fatalf("not ready under tenure 1: %+v", b.out)
	}
	// The gap between the tenures was never seen: only the number tells.
	p = p.WithLease(elector.State{Tenure: 2, Deadline: 5 * sec})
	if _, ok := p.Begin(); ok {
		t.Fatal("readiness of tenure 1 counts for tenure 2")
	}
	b.run(2*sec, p)
	if b.out.Ready != 0 {
		t.Fatal("the earlier recovery was not forgotten")
	}
	b.settle(2*sec, p)
	if b.out.Ready != 2 || b.out.Epoch <= first {
		t.Fatalf("epoch %d of tenure %d after epoch %d", b.out.Epoch, b.out.Ready, first)
	}
}

func TestM1RenewalKeepsTheEpoch(t *testing.T) {
	b := newBench(t, 1)
	p := b.settle(0, tenure(1, sec))
	first := b.out.Epoch
	b.settle(sec/2, p.WithLease(elector.State{Tenure: 1, Deadline: 2 * sec}))
	if b.out.Ready != 1 || b.out.Epoch != first {
		t.Fatalf("a renewal changed the epoch: %d after %d", b.out.Epoch, first)
	}
}

// "ready only when all that, and an entry that opens this epoch, are chosen and applied" (M4).
func TestM4ReadyOnlyAfterTheOpeningEntryIsApplied(t *testing.T) {
	b := newBench(t, 1)
	p := tenure(1, sec)
	for range 2 {
		b.run(0, p)
		if b.out.Ready != 0 {
			t.Fatal("ready before the barrier entry is chosen")
		}
		b.sync() // the promise, so that Phase 1 is complete; then the barrier entry, so that it is chosen
	}
	b.run(0, p)
	apply, ready := slices.Index(b.order, effect.Apply), slices.Index(b.order, effect.Ready)
	if apply < 0 {
		t.Fatal("the barrier entry is not chosen: the test is wrong")
	}
	if ready < apply || b.out.Ready != 1 || b.out.Epoch == 0 {
		t.Fatalf("ready in epoch %d, by %v", b.out.Epoch, b.order)
	}
}

func TestM4NothingIsProposedOrGrantedBeforeReady(t *testing.T) {
	b := newBench(t, 1)
	m := b.log.members.newest
	m.Change, m.NonVoters = 1, []ident.Member{{Node: 2}}
	b.log.members.follow(m, 3)
	p := tenure(1, sec)
	b.request(1, sec)
	b.give(Event{Read: &ReadRequest{ID: 2, Until: sec}})
	b.give(Event{Peer: &Message{Kind: KindReadPoint, From: 2, Read: ReadPoint{ID: 5}}})
	for range 2 {
		b.run(0, p)
		b.sync()
	}
	if len(b.replies) != 0 {
		t.Fatalf("answered before ready: %+v", b.replies)
	}
	if m := b.messages[0]; m.Kind != KindReadPointR || m.Read.Granted {
		t.Fatalf("a follower's read was not refused before ready: %+v", m)
	}
	b.settle(0, p)
	if b.replies[1].Outcome != Done || b.replies[2].Outcome != Done {
		t.Fatalf("not answered once ready: %+v", b.replies)
	}
}

// "A higher promise seen anywhere, at the own acceptor too, ends readiness: M2–M4 again under a new ballot, same
// holding" (M5).
func TestM5HigherPromiseEndsReadiness(t *testing.T) {
	b := newBench(t, 1, 2)
	p := tenure(1, sec)
	b.lead(p)
	before := b.log.core.Ballot()
	higher := ballot.New(before.Counter+5, ballot.Incarnation{Node: 2, Restart: 1})
	b.give(Event{Log: &multipaxos.Message{Kind: multipaxos.KindPrepare, From: 2, To: 1, Ballot: higher, Slot: 1}})
	b.request(1, sec)
	b.run(0, p)
	if b.out.Ready != 0 {
		t.Fatal("still ready above a higher promise")
	}
	if b.log.epoch.tenure != 1 || !higher.Less(b.log.core.Ballot()) {
		t.Fatalf("did not start again above %v under the same tenure: %v", higher, b.log.core.Ballot())
	}
	if r, ok := b.replies[1]; ok {
		t.Fatalf("a write that was never proposed was answered %+v", r)
	}
}

// "chosen → apply → lease still held, same epoch? → the waiting handlers get their results" (log.md, One write).
func TestWriteIsAcknowledgedOnlyUnderTheLease(t *testing.T) {
	for _, c := range []struct {
		name string
		now  time.Duration
		p    func(Published) Published
		want Outcome
	}{
		{"held", sec / 2, func(p Published) Published { return p }, Done},
		{"at the deadline", sec, func(p Published) Published { return p }, Unknown},
		{"released", sec / 2, func(p Published) Published { return p.WithLease(elector.State{}) }, Unknown},
		{"another tenure", sec / 2, func(p Published) Published {
			return p.WithLease(elector.State{Tenure: 2, Deadline: 9 * sec})
		}, Unknown},
	} {
		b := newBench(t, 1)
		p := b.settle(0, tenure(1, sec))
		b.request(1, 9*sec)
		b.run(0, p)
		b.sync()
		b.runInto(0, p, c.now, c.p(p)) // applied, and then the clock is read again
		if got := b.replies[1].Outcome; got != c.want {
			t.Errorf("%s: outcome %d, want %d", c.name, got, c.want)
		}
	}
}

// "request arrives → the epoch is ready → take the snapshot → then read the clock once: held, same epoch →
// answer" (log.md, Three ways to read).
func TestReadGate(t *testing.T) {
	ready := Published{Tenure: 3, Deadline: sec, Ready: 3, Epoch: 40}
	ticket, ok := ready.Begin()
	if !ok {
		t.Fatal("a ready epoch opens no read")
	}
	for _, c := range []struct {
		name string
		p    Published
		now  time.Duration
		want bool
	}{
		{"held", ready, sec - 1, true},
		{"renewed", ready.WithLease(elector.State{Tenure: 3, Deadline: 2 * sec}), sec + 1, true},
		{"at the deadline", ready, sec, false},
		{"released", ready.WithLease(elector.State{}), 0, false},
		{"lost and won again", ready.WithLease(elector.State{Tenure: 4, Deadline: 2 * sec}), 0, false},
		{"recovering under a new ballot", ready.WithReady(0, 0), 0, false},
		{"new epoch in the same tenure", ready.WithReady(3, 41), 0, false},
	} {
		if got := c.p.End(ticket, c.now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	for _, p := range []Published{{}, {Tenure: 3, Deadline: sec}, {Tenure: 3, Deadline: sec, Ready: 2, Epoch: 9}} {
		if _, ok := p.Begin(); ok {
			t.Errorf("%+v opens a read", p)
		}
	}
}

// "a read never joins a round already sent" (log.md, Three ways to read).
func TestConsistentReadNeverJoinsARoundAlreadySent(t *testing.T) {
	b := newBench(t, 1, 2)
	p := b.lead(tenure(1, sec))
	b.give(Event{Read: &ReadRequest{ID: 1, Consistent: true, Until: sec}})
	b.run(0, p)
	first := b.confirmSent()
	if first == 0 {
		t.Fatal("no round was sent")
	}
	b.give(Event{Read: &ReadRequest{ID: 2, Consistent: true, Until: sec}})
	b.run(0, p)
	b.confirmed(first)
	b.run(0, p)
	if b.replies[1].Outcome != Done {
		t.Fatalf("the first read: %+v", b.replies[1])
	}
	if _, ok := b.replies[2]; ok {
		t.Fatal("the second read joined a round that was sent before it arrived")
	}
	b.run(0, p)
	second := b.confirmSent()
	if second <= first {
		t.Fatalf("no round of its own for the second read: %d after %d", second, first)
	}
	b.confirmed(second)
	b.run(0, p)
	if b.replies[2].Outcome != Done {
		t.Fatalf("the second read: %+v", b.replies[2])
	}
}

func TestConsistentReadNeedsTheLeaseToo(t *testing.T) {
	b := newBench(t, 1, 2)
	p := b.lead(tenure(1, sec))
	b.give(Event{Read: &ReadRequest{ID: 1, Consistent: true, Until: 9 * sec}})
	b.run(0, p)
	b.confirmed(b.confirmSent())
	b.runInto(sec-1, p, sec, p)
	if b.replies[1].Outcome == Done {
		t.Fatal("granted without the lease")
	}
}

// A follower's read point is given under the same check, with a clock reading made after the point was taken.
func TestReadPointForAFollowerNeedsTheLease(t *testing.T) {
	for now, want := range map[time.Duration]bool{sec - 1: true, sec: false} {
		b := newBench(t, 1, 2)
		p := b.lead(tenure(1, sec))
		b.messages = nil
		b.give(Event{Peer: &Message{Kind: KindReadPoint, From: 2, Read: ReadPoint{ID: 5}}})
		b.runInto(0, p, now, p)
		if len(b.messages) != 1 || b.messages[0].Read.Granted != want {
			t.Fatalf("at %v: %+v", now, b.messages)
		}
		if want && b.messages[0].Read.Slot != b.state.Applied() {
			t.Fatalf("the point is %d, applied is %d", b.messages[0].Read.Slot, b.state.Applied())
		}
	}
}

func TestQueuesAreBounded(t *testing.T) {
	b := newBench(t, 1)
	for id := uint64(1); id <= 100; id++ {
		b.request(id, sec)
		b.give(Event{Read: &ReadRequest{ID: 1000 + id, Until: sec}})
	}
	b.again()
	if len(b.replies) != 2*(100-64) {
		t.Fatalf("%d requests were refused", len(b.replies))
	}
	for id, r := range b.replies {
		if r.Outcome != Refused || r.Reason != Overloaded {
			t.Fatalf("request %d: %+v", id, r)
		}
	}
}

// While a batch is in flight the next one gathers: for GatherFor, or until it is whole, or until the first is applied.
func TestBatchesGather(t *testing.T) {
	const gather = 5 * time.Millisecond
	b := newBench(t, 1)
	b.log.batches.gather = gather
	p := b.settle(sec, tenure(1, 9*sec))
	propose := func(at time.Duration) int {
		b.run(at, p)
		return len(b.out.Proposed)
	}
	if n := propose(sec); n != 0 {
		t.Fatalf("%d batches of nothing", n)
	}
	b.request(1, 8*sec)
	if n := propose(sec); n != 1 {
		t.Fatalf("with nothing in flight %d batches left", n)
	}
	b.request(2, 8*sec)
	b.request(3, 8*sec)
	if n := propose(sec + gather - 1); n != 0 {
		t.Fatal("a second batch left at once")
	}
	if n := propose(sec + gather); n != 1 || b.out.Proposed[0].Writes != 2 {
		t.Fatalf("after the wait: %+v", b.out.Proposed)
	}
	b.request(4, 8*sec)
	b.run(sec+gather, p)
	b.sync()
	if n := propose(sec + gather); n != 1 {
		t.Fatal("the batch still waits when nothing is in flight any more")
	}
	b.settle(sec+gather, p)
	big := kv.EncodeCommand(&kv.Command{Op: kv.OpSet, Key: "k", Value: make([]byte, 3000)})
	for id := uint64(5); id < 8; id++ {
		b.give(Event{Write: &Write{ID: id, Command: big, Until: 8 * sec}})
		propose(sec + gather)
	}
	if n := len(b.log.batches.inFlight); n != 2 {
		t.Fatalf("%d slots in flight: a whole batch waits for no time", n)
	}
	b.settle(2*sec, p)
	for id := uint64(1); id < 8; id++ {
		if r := b.replies[id]; r.Outcome != Done {
			t.Fatalf("request %d: %+v", id, r)
		}
	}
}

// Never "refused" for what may still be chosen: a write that was proposed and timed out is unknown, one that never was
// is refused.
func TestTimeoutIsRefusedBeforeAndUnknownAfterTheProposal(t *testing.T) {
	b := newBench(t, 1)
	b.request(1, sec)
	b.tick(sec, Published{})
	b.again()
	if r := b.replies[1]; r.Outcome != Refused || r.Reason != NoMaster {
		t.Fatalf("never proposed: %+v", r)
	}
	p := b.settle(sec, tenure(1, 9*sec))
	b.request(2, 2*sec)
	b.run(sec, p) // proposed; the disk is slow
	b.tick(2*sec, p)
	b.again()
	if r := b.replies[2]; r.Outcome != Unknown || r.Reason != TimedOut {
		t.Fatalf("proposed: %+v", r)
	}
	b.settle(2*sec, p)
}

// A keyed write that was forwarded once and never answered may have been applied: that a second copy was refused does
// not tell.
func TestRefusalOfASecondCopyIsNotARefusal(t *testing.T) {
	for name, lose := range map[string]func(b *bench){
		"the link broke":        func(b *bench) { b.give(Event{Down: 2}) },
		"another became master": func(*bench) {},
	} {
		b := newBench(t, 1, 2, 3)
		b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 2, Heartbeat: Heartbeat{Master: true, Epoch: 1}}})
		cmd := set("k", "v")
		cmd.IdemKey = "key"
		b.give(Event{Write: &Write{ID: 7, Command: kv.EncodeCommand(&cmd), Keyed: true, Until: sec}})
		b.run(0, Published{})
		lose(b)
		b.messages = nil
		b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 3, Heartbeat: Heartbeat{Master: true, Epoch: 9}}})
		b.run(0, Published{})
		var sent *Write
		for i := range b.messages {
			if m := &b.messages[i]; m.Kind == KindForward && m.To == 3 {
				sent = &m.Writes[0]
			}
		}
		if sent == nil {
			t.Fatalf("%s: the write was not forwarded again", name)
		}
		b.give(Event{Peer: &Message{Kind: KindForwarded, From: 3,
			Answers: []ForwardedAnswer{{ID: sent.ID, Outcome: Refused, Reason: NoSpace}}}})
		b.again()
		if r := b.replies[7]; r.Outcome != Unknown {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestNoSpaceRefusesWritesButNotDeletes(t *testing.T) {
	b := newBench(t, 1)
	p := b.settle(0, tenure(1, sec))
	b.log.SetDisk(Disk{Space: SpaceLow})
	b.request(1, sec)
	del := kv.Command{Op: kv.OpDelete, Key: "k"}
	b.give(Event{Write: &Write{ID: 2, Command: kv.EncodeCommand(&del), Frees: true, Until: sec}})
	b.settle(0, p)
	if r := b.replies[1]; r.Outcome != Refused || r.Reason != NoSpace {
		t.Fatalf("set: %+v", r)
	}
	if b.replies[2].Outcome != Done {
		t.Fatalf("delete: %+v", b.replies[2])
	}
	b.log.SetDisk(Disk{Space: SpaceEnough})
	b.request(3, sec)
	b.settle(0, p)
	if b.replies[3].Outcome != Done {
		t.Fatalf("set after there is space again: %+v", b.replies[3])
	}
}

// A member whose disk is full refuses for all, and so does one that can hold no more deletes.
func TestNoSpaceOnAMemberRefusesToo(t *testing.T) {
	b := newBench(t, 1, 2)
	p := b.lead(tenure(1, sec))
	b.give(Event{Up: 2})
	del := kv.Command{Op: kv.OpDelete, Key: "k"}
	for id, c := range map[uint64]struct {
		space   Space
		set     bool
		refused bool
	}{1: {SpaceEnough, true, false}, 2: {SpaceLow, true, true}, 3: {SpaceLow, false, false}, 4: {SpaceNone, false, true}} {
		b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 2, Heartbeat: Heartbeat{Space: c.space}}})
		cmd := del
		if c.set {
			cmd = set("k", "v")
		}
		b.give(Event{Write: &Write{ID: id, Command: kv.EncodeCommand(&cmd), Frees: !c.set, Until: sec}})
		b.run(0, p)
		if r := b.replies[id]; (r.Reason == NoSpace) != c.refused {
			t.Errorf("space %d, set %v: %+v", c.space, c.set, r)
		}
	}
}

// The SIGTERM order of log.md: refuse new requests, finish what is in flight, stop acting, answer the rest unknown.
func TestStopFinishesWhatIsInFlight(t *testing.T) {
	b := newBench(t, 1)
	p := b.settle(0, tenure(1, sec))
	b.request(1, sec)
	b.run(0, p)
	b.log.HandOver(false)
	b.request(2, sec)
	b.again()
	if r := b.replies[2]; r.Outcome != Refused || r.Reason != Stopping {
		t.Fatalf("new request while stopping: %+v", r)
	}
	if b.log.Idle() {
		t.Fatal("idle with a write in flight")
	}
	b.settle(0, p)
	if b.replies[1].Outcome != Done || !b.log.Idle() {
		t.Fatalf("in flight: %+v", b.replies[1])
	}
	b.log.StepDown(0)
	b.log.Resume() // of a hand-over that the stop has overtaken
	b.run(0, p)
	if b.out.Ready != 0 || b.log.epoch.tenure != 0 {
		t.Fatal("leads again while it stops")
	}
}

func TestStepDownLeavesTheRestUnknown(t *testing.T) {
	b := newBench(t, 1)
	p := b.settle(0, tenure(1, sec))
	b.request(1, sec)
	b.run(0, p)
	b.log.HandOver(false)
	b.log.StepDown(0)
	b.again()
	if r := b.replies[1]; r.Outcome != Unknown {
		t.Fatalf("%+v", r)
	}
}
