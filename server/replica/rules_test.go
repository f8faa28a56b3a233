package replica

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/kv"
	"tenure/multipaxos"
)

// bench is one log part driven by hand: the lease is what the test says.
type bench struct {
	t        *testing.T
	log      *Log
	round    *LogRound
	state    *kv.State
	disk     *disk
	persists []multipaxos.Persist
	out      Output
	sent     []multipaxos.Message
	messages []Message
	replies  map[uint64]Reply
}

func newBench(t *testing.T, voters ...ballot.NodeID) *bench {
	t.Helper()
	return newBenchOf(t, ballot.Incarnation{Node: 1, Restart: 1, Nonce: 9}, voters...)
}

// newBenchOf is the bench of one run of a node.
func newBenchOf(t *testing.T, self ballot.Incarnation, voters ...ballot.NodeID) *bench {
	t.Helper()
	b := &bench{t: t, disk: newDisk(), replies: map[uint64]Reply{}}
	var err error
	if b.state, err = kv.Open(b.disk.stateDB, kv.DefaultLimits); err != nil {
		t.Fatal(err)
	}
	cfg := testConfig(self, quorum.Of(voters...))
	core, err := multipaxos.New(cfg.Core, multipaxos.Durable{}, b.disk)
	if err != nil {
		t.Fatal(err)
	}
	if b.log, err = NewLog(cfg, core, b.state); err != nil {
		t.Fatal(err)
	}
	b.round = NewLogRound(b.log)
	return b
}

func (b *bench) advance(now time.Duration, p Published) {
	b.t.Helper()
	if err := b.log.advance(now, p); err != nil {
		b.t.Fatal(err)
	}
	b.drain()
}

// drain takes the output of a step that was made by hand.
func (b *bench) drain() {
	b.out = b.log.take()
	for e := EffectPersist; e <= EffectReply; e++ {
		b.carryOut(e, b.out)
	}
}

func (b *bench) carryOut(e Effect, out Output) {
	switch e {
	case EffectPersist:
		b.persists = append(b.persists, out.Persists...)
	case EffectSend:
		b.sent = append(b.sent, out.Log...)
		b.messages = append(b.messages, out.Messages...)
	case EffectReply:
		for _, r := range out.Replies {
			b.replies[r.ID] = r
		}
	}
}

// sync makes everything handed to the disk durable.
func (b *bench) sync() {
	b.t.Helper()
	for _, p := range b.persists {
		b.disk.commit(p)
		if err := b.log.persisted(p.Seq); err != nil {
			b.t.Fatal(err)
		}
	}
	b.persists = nil
	b.drain()
}

func (b *bench) apply() {
	b.t.Helper()
	if err := b.log.apply(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) finish(now time.Duration, p Published) {
	b.log.finish(now, p)
	b.drain()
}

// settle runs rounds until nothing moves any more.
func (b *bench) settle(now time.Duration, p Published) Published {
	b.t.Helper()
	for range 10 {
		for e := Effect(0); e != EffectDone; {
			var err error
			if e, err = b.round.Next(); err != nil {
				b.t.Fatal(err)
			}
			switch e {
			case EffectClock:
				b.round.Read(now, p)
			case EffectApply:
				if err := b.round.Locked(); err != nil {
					b.t.Fatal(err)
				}
			case EffectPersist, EffectSend, EffectReply:
				b.carryOut(e, *b.round.Output())
			}
		}
		b.sync()
		b.out = *b.round.Output()
		p = p.WithReady(b.out.Ready, b.out.Epoch)
	}
	return p
}

func (b *bench) request(id uint64, until time.Duration) {
	cmd := set("k", "v")
	b.log.request(0, Request{ID: id, Command: kv.EncodeCommand(&cmd), Until: until})
}

func tenure(n uint64, deadline time.Duration) Published {
	return Published{}.WithLease(n, deadline)
}

const sec = time.Second

// "win the lease; this opens a new epoch and forgets any earlier recovery … a gap, however short, decided from stored
// data and not by a timer, ends it" (M1).
func TestM1NewHoldingOpensANewEpoch(t *testing.T) {
	b := newBench(t, 1)
	p := b.settle(0, tenure(1, sec))
	first := b.out.Epoch
	if b.out.Ready != 1 || first == 0 {
		t.Fatalf("not ready under tenure 1: %+v", b.out)
	}
	p = p.WithLease(2, 5*sec) // the gap between the tenures was never seen: only the number tells
	if _, ok := p.Begin(); ok {
		t.Fatal("readiness of tenure 1 counts for tenure 2")
	}
	b.advance(2*sec, p)
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
	b.settle(sec/2, p.WithLease(1, 2*sec))
	if b.out.Ready != 1 || b.out.Epoch != first {
		t.Fatalf("a renewal changed the epoch: %d after %d", b.out.Epoch, first)
	}
}

// "ready only when all that, and an entry that opens this epoch, are chosen and applied" (M4).
func TestM4ReadyOnlyAfterTheOpeningEntryIsApplied(t *testing.T) {
	b := newBench(t, 1)
	p := tenure(1, sec)
	b.advance(0, p)
	b.sync() // the promise: Phase 1 is complete
	b.advance(0, p)
	b.sync() // the barrier entry is chosen
	if !b.out.Apply {
		t.Fatal("the barrier entry is not chosen: the test is wrong")
	}
	if b.out.Ready != 0 {
		t.Fatal("ready before the barrier entry is applied")
	}
	b.apply()
	b.finish(0, p)
	if b.out.Ready != 1 || b.out.Epoch == 0 {
		t.Fatal("not ready after it")
	}
}

func TestM4NothingIsProposedOrGrantedBeforeReady(t *testing.T) {
	b := newBench(t, 1)
	p := tenure(1, sec)
	b.request(1, sec)
	b.log.readRequest(ReadRequest{ID: 2, Until: sec})
	b.log.receive(0, Message{Kind: KindReadPoint, From: 2, Read: ReadPoint{ID: 5}})
	b.advance(0, p)
	b.sync()
	b.advance(0, p)
	b.sync()
	b.finish(0, p)
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
	if err := b.log.step(multipaxos.Message{Kind: multipaxos.KindPrepare, From: 2, To: 1, Ballot: higher, Slot: 1}); err != nil {
		t.Fatal(err)
	}
	b.request(1, sec)
	b.advance(0, p)
	if b.out.Ready != 0 {
		t.Fatal("still ready above a higher promise")
	}
	if b.log.tenure != 1 || !higher.Less(b.log.core.Ballot()) {
		t.Fatalf("did not start again above %v under the same tenure: %v", higher, b.log.core.Ballot())
	}
	if r, ok := b.replies[1]; ok {
		t.Fatalf("a write that was never proposed was answered %+v", r)
	}
}

// lead makes node 1 of {1, 2} ready, with node 2 answering as it should.
func (b *bench) lead(p Published) Published {
	b.t.Helper()
	for range 10 {
		b.advance(0, p)
		b.sync()
		b.answerAsPeer()
		b.apply()
		b.finish(0, p)
		p = p.WithReady(b.out.Ready, b.out.Epoch)
	}
	if p.Ready == 0 {
		b.t.Fatal("node 1 did not become ready")
	}
	return p
}

// answerAsPeer answers what was sent to node 2 as an acceptor with an empty log would.
func (b *bench) answerAsPeer() {
	b.t.Helper()
	sent := b.sent
	b.sent = nil
	for _, m := range sent {
		r := multipaxos.Message{From: 2, To: 1, Ballot: m.Ballot}
		switch m.Kind {
		case multipaxos.KindPrepare:
			r.Kind, r.Slot, r.Last, r.Membership = multipaxos.KindPromise, m.Slot, true, 1
		case multipaxos.KindAccept:
			r.Kind, r.Slot, r.Through = multipaxos.KindAccepted, m.Entries[0].Slot, m.Entries[len(m.Entries)-1].Slot
		default:
			continue
		}
		if err := b.log.step(r); err != nil {
			b.t.Fatal(err)
		}
	}
	b.drain()
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
		{"released", sec / 2, func(p Published) Published { return p.WithLease(0, 0) }, Unknown},
		{"another tenure", sec / 2, func(p Published) Published { return p.WithLease(2, 9*sec) }, Unknown},
	} {
		b := newBench(t, 1)
		p := b.settle(0, tenure(1, sec))
		b.request(1, 9*sec)
		b.advance(0, p)
		b.sync()
		b.apply()
		if len(b.replies) != 0 {
			t.Fatalf("%s: acknowledged before Finish", c.name)
		}
		b.finish(c.now, c.p(p))
		if got := b.replies[1].Outcome; got != c.want {
			t.Errorf("%s: outcome %d, want %d", c.name, got, c.want)
		}
	}
}

// "request arrives → the epoch is ready → take the snapshot → then read the clock once: held, same epoch → answer"
// (log.md, Three ways to read).
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
		{"renewed", ready.WithLease(3, 2*sec), sec + 1, true},
		{"at the deadline", ready, sec, false},
		{"released", ready.WithLease(0, 0), 0, false},
		{"lost and won again", ready.WithLease(4, 2*sec), 0, false},
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
	b.log.readRequest(ReadRequest{ID: 1, Consistent: true, Until: sec})
	b.advance(0, p)
	first := b.confirmSent()
	if first == 0 {
		t.Fatal("no round was sent")
	}
	b.log.readRequest(ReadRequest{ID: 2, Consistent: true, Until: sec})
	b.advance(0, p)
	b.confirmed(first)
	b.finish(0, p)
	if b.replies[1].Outcome != Done {
		t.Fatalf("the first read: %+v", b.replies[1])
	}
	if _, ok := b.replies[2]; ok {
		t.Fatal("the second read joined a round that was sent before it arrived")
	}
	b.advance(0, p)
	second := b.confirmSent()
	if second <= first {
		t.Fatalf("no round of its own for the second read: %d after %d", second, first)
	}
	b.confirmed(second)
	b.finish(0, p)
	if b.replies[2].Outcome != Done {
		t.Fatalf("the second read: %+v", b.replies[2])
	}
}

func TestConsistentReadNeedsTheLeaseToo(t *testing.T) {
	b := newBench(t, 1, 2)
	p := b.lead(tenure(1, sec))
	b.log.readRequest(ReadRequest{ID: 1, Consistent: true, Until: 9 * sec})
	b.advance(0, p)
	b.confirmed(b.confirmSent())
	b.finish(sec, p)
	if b.replies[1].Outcome == Done {
		t.Fatal("granted without the lease")
	}
}

func (b *bench) confirmSent() (round uint64) {
	for _, m := range b.sent {
		if m.Kind == multipaxos.KindConfirm {
			round = max(round, m.Round)
		}
	}
	return round
}

func (b *bench) confirmed(round uint64) {
	b.t.Helper()
	m := multipaxos.Message{Kind: multipaxos.KindConfirmed, From: 2, To: 1, Ballot: b.log.core.Ballot(), Round: round}
	if err := b.log.step(m); err != nil {
		b.t.Fatal(err)
	}
}

// A follower's read point is given under the same check, with a clock reading made after the point was taken.
func TestReadPointForAFollowerNeedsTheLease(t *testing.T) {
	for now, want := range map[time.Duration]bool{sec - 1: true, sec: false} {
		b := newBench(t, 1, 2)
		p := b.lead(tenure(1, sec))
		b.messages = nil
		b.log.receive(0, Message{Kind: KindReadPoint, From: 2, Read: ReadPoint{ID: 5}})
		b.advance(0, p)
		if len(b.messages) != 0 {
			t.Fatalf("answered before the clock was read again: %+v", b.messages)
		}
		b.finish(now, p)
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
		b.log.readRequest(ReadRequest{ID: 1000 + id, Until: sec})
	}
	b.drain()
	if len(b.replies) != 2*(100-64) {
		t.Fatalf("%d requests were refused", len(b.replies))
	}
	for id, r := range b.replies {
		if r.Outcome != Refused || r.Reason != Overloaded {
			t.Fatalf("request %d: %+v", id, r)
		}
	}
}

// While a batch is in flight the next one gathers: for GatherFor, or until it is whole, or until the first has landed.
func TestBatchesGather(t *testing.T) {
	const gather = 5 * time.Millisecond
	b := newBench(t, 1)
	b.log.cfg.GatherFor = gather
	p := b.settle(sec, tenure(1, 9*sec))
	propose := func(at time.Duration) int {
		b.advance(at, p)
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
	b.advance(sec+gather, p)
	b.sync()
	b.apply()
	if n := propose(sec + gather); n != 1 {
		t.Fatal("the batch still waits when nothing is in flight any more")
	}
	b.settle(sec+gather, p)
	big := kv.EncodeCommand(&kv.Command{Op: kv.OpSet, Key: "k", Value: make([]byte, 3000)})
	for id := uint64(5); id < 8; id++ {
		b.log.request(sec, Request{ID: id, Command: big, Until: 8 * sec})
		propose(sec + gather)
	}
	if n := len(b.log.flights); n != 2 {
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
	if err := b.log.tick(sec, Published{}); err != nil {
		t.Fatal(err)
	}
	b.drain()
	if r := b.replies[1]; r.Outcome != Refused || r.Reason != NoMaster {
		t.Fatalf("never proposed: %+v", r)
	}
	p := b.settle(sec, tenure(1, 9*sec))
	b.request(2, 2*sec)
	b.advance(sec, p) // proposed; the disk is slow
	if err := b.log.tick(2*sec, p); err != nil {
		t.Fatal(err)
	}
	b.drain()
	if r := b.replies[2]; r.Outcome != Unknown || r.Reason != TimedOut {
		t.Fatalf("proposed: %+v", r)
	}
	b.settle(2*sec, p)
}

// A keyed write that was forwarded once and never answered may have been applied: that a second copy was refused does
// not tell.
func TestRefusalOfASecondCopyIsNotARefusal(t *testing.T) {
	for name, lose := range map[string]func(b *bench){
		"the link broke":        func(b *bench) { b.log.disconnected(2) },
		"another became master": func(*bench) {},
	} {
		b := newBench(t, 1, 2, 3)
		b.log.receive(0, Message{Kind: KindHeartbeat, From: 2, Heartbeat: Heartbeat{Master: true, Epoch: 1}})
		cmd := set("k", "v")
		cmd.IdemKey = "key"
		b.log.request(0, Request{ID: 7, Command: kv.EncodeCommand(&cmd), Keyed: true, Until: sec})
		b.advance(0, Published{})
		lose(b)
		b.messages = nil
		b.log.receive(0, Message{Kind: KindHeartbeat, From: 3, Heartbeat: Heartbeat{Master: true, Epoch: 9}})
		b.advance(0, Published{})
		var sent *ForwardedWrite
		for i := range b.messages {
			if m := &b.messages[i]; m.Kind == KindForward && m.To == 3 {
				sent = &m.Writes[0]
			}
		}
		if sent == nil {
			t.Fatalf("%s: the write was not forwarded again", name)
		}
		b.log.receive(0, Message{Kind: KindForwarded, From: 3, Answers: []ForwardedAnswer{{ID: sent.ID, Outcome: Refused, Reason: NoSpace}}})
		b.drain()
		if r := b.replies[7]; r.Outcome != Unknown {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestNoSpaceRefusesWritesButNotDeletes(t *testing.T) {
	b := newBench(t, 1)
	p := b.settle(0, tenure(1, sec))
	b.log.SetSpace(SpaceLow)
	b.request(1, sec)
	del := kv.Command{Op: kv.OpDelete, Key: "k"}
	b.log.request(0, Request{ID: 2, Command: kv.EncodeCommand(&del), Frees: true, Until: sec})
	b.settle(0, p)
	if r := b.replies[1]; r.Outcome != Refused || r.Reason != NoSpace {
		t.Fatalf("set: %+v", r)
	}
	if b.replies[2].Outcome != Done {
		t.Fatalf("delete: %+v", b.replies[2])
	}
	b.log.SetSpace(SpaceEnough)
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
	b.log.connected(2)
	del := kv.Command{Op: kv.OpDelete, Key: "k"}
	for id, c := range map[uint64]struct {
		space   Space
		set     bool
		refused bool
	}{1: {SpaceEnough, true, false}, 2: {SpaceLow, true, true}, 3: {SpaceLow, false, false}, 4: {SpaceNone, false, true}} {
		b.log.receive(0, Message{Kind: KindHeartbeat, From: 2, Heartbeat: Heartbeat{Space: c.space}})
		cmd := del
		if c.set {
			cmd = set("k", "v")
		}
		b.log.request(0, Request{ID: id, Command: kv.EncodeCommand(&cmd), Frees: !c.set, Until: sec})
		b.advance(0, p)
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
	b.advance(0, p)
	b.log.Stop()
	b.request(2, sec)
	b.drain()
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
	b.advance(0, p)
	if b.out.Ready != 0 || b.log.tenure != 0 {
		t.Fatal("leads again while it stops")
	}
}

func TestStepDownLeavesTheRestUnknown(t *testing.T) {
	b := newBench(t, 1)
	p := b.settle(0, tenure(1, sec))
	b.request(1, sec)
	b.advance(0, p)
	b.log.Stop()
	b.log.StepDown(0)
	b.drain()
	if r := b.replies[1]; r.Outcome != Unknown {
		t.Fatalf("%+v", r)
	}
}
