package replica

import (
	"fmt"
	"strings"
	"testing"

	"tenure/kv"
	"tenure/multipaxos"
)

// "merging … none ahead of what the node's own log has synced": a slot can be chosen and applied by the others' votes
// before the own disk has it. What is checkpointed must survive in the own log, or be reported as truncated.
func TestCheckpointWaitsForTheOwnLog(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	p := b.lead(tenure(1, sec))
	b.sent = nil
	b.request(1, sec)
	b.run(0, p)
	for _, m := range b.sent {
		if m.Kind != multipaxos.KindAccept {
			continue
		}
		r := multipaxos.Message{Kind: multipaxos.KindAccepted, From: m.To, To: 1, Ballot: m.Ballot,
			Slot: m.Entries[0].Slot, Through: m.Entries[len(m.Entries)-1].Slot}
		b.give(Event{Log: &r})
	}
	b.run(0, p)
	if b.replies[1].Outcome != Done {
		t.Fatalf("not chosen by the others' votes, the test is wrong: %+v", b.replies[1])
	}
	b.freeze(0, p)
	if b.frozen != nil {
		t.Fatal("a checkpoint was handed out before the own log had its entries")
	}
	b.sync()
	b.run(0, p)
	if b.frozen == nil || b.frozen.Slot() != b.state.Applied() {
		t.Fatal("the checkpoint was not handed out when the own log had its entries")
	}
}

// A checkpoint that somebody waits for begins with the next tick, however little has changed, and one more if more was
// applied since the one that runs.
func TestACheckpointThatIsWantedComesSoon(t *testing.T) {
	b := newBench(t, 1)
	p := b.settle(0, b.lead(tenure(1, sec)))
	write := func(id uint64) {
		t.Helper()
		b.request(id, sec)
		b.settle(0, p)
		if b.replies[id].Outcome != Done {
			t.Fatalf("%+v", b.replies[id])
		}
	}
	write(1)
	if b.tick(0, p); b.frozen != nil {
		t.Fatal("a checkpoint of nearly nothing, for nobody")
	}
	first := b.log.WantCheckpoint()
	if b.tick(0, p); b.frozen == nil || b.frozen.Slot() != uint64(first) || first != b.log.Position().Applied {
		t.Fatalf("want one through slot %d: %+v", first, b.frozen)
	}
	write(2)
	second := b.log.WantCheckpoint()
	b.tick(0, p)
	b.save()
	b.settle(0, p)
	if b.tick(0, p); b.frozen == nil || b.frozen.Slot() != uint64(second) || second <= first {
		t.Fatalf("want one through slot %d: %+v", second, b.frozen)
	}
	b.save()
	b.settle(0, p)
	if b.tick(0, p); b.frozen != nil {
		t.Fatal("a checkpoint that nobody waits for any more")
	}
}

// The log starts a checkpoint too, and not a large one early.
func TestHowMuchLogStartsACheckpoint(t *testing.T) {
	c := checkpoints{maxBytes: 100, logBytes: 150}
	for _, step := range []struct{ logBytes, stateDB, want int64 }{
		{150, 0, 150}, {150, 1200, 300}, {150, 10_000, 400}, {350, 1200, 350}, {900, 0, 400},
	} {
		c.logBytes, c.stateDB = step.logBytes, step.stateDB
		if got := c.logLimit(); got != step.want {
			t.Errorf("%+v: %d", step, got)
		}
	}
}

// A large state database is checkpointed in larger pieces, within a bound, and what may wait for a checkpoint grows as
// much and no more.
func TestLargeStateDBsAreCheckpointedInLargerPieces(t *testing.T) {
	b := newBench(t, 1)
	base := b.log.cfg.CheckpointBytes
	for stateDB, want := range map[int64]int64{0: base, 4 * base: base, 8 * base: 2 * base, 16 * base: 4 * base,
		1000 * base: 4 * base} {
		b.log.SetDisk(Disk{StateDBBytes: stateDB})
		if got := b.log.checkpoints.threshold(); got != want {
			t.Errorf("a state database of %d bytes is checkpointed by %d, want %d", stateDB, got, want)
		}
	}
	value := strings.Repeat("v", int(base)/8)
	slot := uint64(0)
	fill := func(keys int) {
		var batch []byte
		for i := range keys {
			c := set(fmt.Sprint(i), value)
			batch = kv.AppendBatch(batch, kv.EncodeCommand(&c))
		}
		slot++
		if _, err := b.state.Apply(slot, batch); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		stateDB    int64
		keys       int
		want, full bool
	}{{0, 7, false, false}, {0, 8, true, false}, {8 * base, 8, false, false}, {8 * base, 16, true, false}, {0, 32, true,
		true}, {8 * base, 32, true, false}, {8 * base, 40, true, true}} {
		b.log.SetDisk(Disk{StateDBBytes: step.stateDB})
		fill(step.keys)
		if got := b.log.checkpoints.due(b.state.TableBytes(), SpaceEnough, b.log.ticks); got != step.want {
			t.Errorf("state database %d, %d bytes of changes: a checkpoint is wanted: %t", step.stateDB, b.state.TableBytes(),
				got)
		}
		if got := b.log.checkpoints.full(b.state.TableBytes()); got != step.full {
			t.Errorf("state database %d, %d bytes of changes: full: %t", step.stateDB, b.state.TableBytes(), got)
		}
	}
}

// compared is a node alone with few bytes of memory for changes.
type compared struct {
	*bench
	pub   Published
	loads uint64
}

func newCompared(t *testing.T) *compared {
	b := newBench(t, 1)
	x := &compared{bench: b, pub: b.settle(0, b.lead(tenure(1, sec)))}
	b.log.checkpoints.maxBytes = 1 << 10
	return x
}

// write writes keys of half the threshold's size each, one after the other.
func (x *compared) write(keys int) {
	x.t.Helper()
	for range keys {
		x.loads++
		c := set(fmt.Sprint(x.loads), strings.Repeat("v", 1<<9))
		x.give(Event{Write: &Write{ID: x.loads, Command: kv.EncodeCommand(&c), Until: sec}})
		x.settle(0, x.pub)
		if r := x.replies[x.loads]; r.Outcome != Done {
			x.t.Fatalf("%+v", r)
		}
	}
}

// ask has the next slot compared.
func (x *compared) ask() (slot uint64) {
	x.t.Helper()
	x.log.changes.compare = true
	x.write(1)
	return x.state.Applied()
}

// done ends the running checkpoint, of the given slot.
func (x *compared) done(slot uint64) {
	x.t.Helper()
	if x.frozen == nil || x.frozen.Slot() != slot {
		x.t.Fatalf("a checkpoint through slot %d runs, not %+v", slot, x.frozen)
	}
	x.save()
	x.settle(0, x.pub)
}

// A node that is asked for the digest of a slot while another checkpoint runs makes one of that slot afterwards; asked
// again meanwhile, of the newer slot.
func TestWhoIsBusyComparesAfterwards(t *testing.T) {
	x := newCompared(t)
	x.write(3)
	x.tick(0, x.pub)
	first := x.state.Applied()
	x.ask()
	asked := x.ask()
	x.write(1)
	x.done(first)
	if !x.log.checkpoints.compare {
		t.Error("it is not compared")
	}
	x.done(asked)
	if x.frozen != nil {
		t.Errorf("another checkpoint follows, through slot %d", x.frozen.Slot())
	}
}

// A node busy with another checkpoint does not skip a slot that all nodes choose. Of several slots that pass meanwhile
// it takes the roundest, as other busy nodes do. A chosen slot never replaces a slot that a record asks for.
func TestWhoIsBusyComparesChosenSlotsAfterwards(t *testing.T) {
	for _, asks := range []bool{false, true} {
		x := newCompared(t)
		x.write(3)
		x.tick(0, x.pub)
		first := x.state.Applied()
		x.log.checkpoints.maxBytes = 1 << 20
		x.log.compareSlots.spacing, x.log.compareSlots.every = 4, 1 // every fourth slot
		for x.state.Applied() < 2*leastSpacing+4 {
			x.write(1)
		}
		want := uint64(2 * leastSpacing) // after 4, 8, 16, …; 36 is less round
		if asks {
			want = x.ask()
			for range 2 * leastSpacing {
				x.write(1)
			}
		}
		x.done(first)
		if !x.log.checkpoints.compare {
			t.Error("it is not compared")
		}
		x.done(want)
	}
}

// What is compared after another checkpoint stays in the memtable. However often a node is asked, a checkpoint that
// empties the memtable comes before there is no memory.
func TestComparisonsLeaveTheMemtableItsBound(t *testing.T) {
	x := newCompared(t)
	x.write(3)
	x.tick(0, x.pub)
	slot, most := x.state.Applied(), int64(0)
	for range 20 {
		next := x.ask()
		most = max(most, x.state.TableBytes())
		x.done(slot)
		if x.frozen == nil {
			next = x.state.Applied()
			x.tick(0, x.pub)
		}
		slot = next
	}
	if x.log.checkpoints.full(most) {
		t.Errorf("%d bytes of changes were kept", most)
	}
}

// Between the two records of a comparison no other checkpoint begins while there is memory. So the compared checkpoint
// need not follow another one, with its changes written twice.
func TestOtherCheckpointsWaitForTheComparison(t *testing.T) {
	x := newCompared(t)
	x.log.changes.readies = true
	x.write(2)
	if x.tick(0, x.pub); x.frozen != nil || !x.log.checkpoints.due(x.state.TableBytes(), SpaceEnough, x.log.ticks) {
		t.Error("another checkpoint begins, or none is due")
	}
	x.write(2)
	if x.tick(0, x.pub); x.frozen == nil {
		t.Error("no checkpoint begins when there is no memory")
	}
}
