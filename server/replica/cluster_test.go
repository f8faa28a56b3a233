package replica

import (
	"fmt"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
)

func TestEveryNodeServesWritesAndReads(t *testing.T) {
	c := newCluster(t, 3, 1)
	c.awaitMaster()
	for i, n := range c.nodes {
		key := fmt.Sprintf("k%d", i)
		if r := c.write(n, 1, set(key, "v"), time.Second); r.Outcome != Done || r.Result.Revision == 0 {
			t.Fatalf("write through node %d: %+v", n.id, r)
		}
		for j, reader := range c.nodes {
			for k, consistent := range []bool{false, true} {
				id := uint64(100 + 10*i + 2*j + k)
				reader.input(Event{Read: &ReadRequest{ID: id, Consistent: consistent, Until: c.now + time.Second}})
				if r := c.await(reader, id, time.Second); r.Outcome != Done {
					t.Fatalf("read point at node %d: %+v", reader.id, r)
				}
				if e, ok, err := reader.state.Get(key); err != nil || !ok || string(e.Value) != "v" {
					t.Fatalf("node %d reads %q %v %v after its read point", reader.id, e.Value, ok, err)
				}
			}
		}
	}
	c.settled()
}

func TestSingleNodeServes(t *testing.T) {
	c := newCluster(t, 1, 1)
	if r := c.write(c.awaitMaster(), 1, set("k", "v"), time.Second); r.Outcome != Done {
		t.Fatalf("%+v", r)
	}
}

func TestAcknowledgedWritesOutliveTheMaster(t *testing.T) {
	c := newCluster(t, 3, 2)
	id := uint64(1)
	for round := range 6 {
		m := c.awaitMaster()
		for i := range 20 {
			id++
			if r := c.write(m, id, set(fmt.Sprintf("r%d.%d", round, i), "v"), time.Second); r.Outcome != Done {
				t.Fatalf("write %d: %+v", id, r)
			}
		}
		c.crash(m)
		next := c.awaitMaster()
		for i := range 20 {
			if _, ok, _ := next.state.Get(fmt.Sprintf("r%d.%d", round, i)); !ok {
				t.Fatalf("round %d: node %d lost an acknowledged write of node %d", round, next.id, m.id)
			}
		}
		c.start(m)
	}
	c.settled()
}

func TestRestartOfAllNodesKeepsAcknowledgedWrites(t *testing.T) {
	c := newCluster(t, 3, 3)
	m := c.awaitMaster()
	for i := range 120 { // enough for checkpoints and truncation
		if r := c.write(m, uint64(i+1), set(fmt.Sprintf("k%d", i), "v"), time.Second); r.Outcome != Done {
			t.Fatalf("write %d: %+v", i, r)
		}
	}
	c.run(200 * time.Millisecond)
	for _, n := range c.nodes {
		c.crash(n)
	}
	c.net = nil
	for _, n := range c.nodes {
		c.start(n)
	}
	m = c.awaitMaster()
	for i := range 120 {
		if _, ok, _ := m.state.Get(fmt.Sprintf("k%d", i)); !ok {
			t.Fatalf("k%d is lost", i)
		}
	}
	if m.disk.durable.Truncated == 0 {
		t.Fatal("nothing was checkpointed and truncated: the test did not test it")
	}
	c.settled()
}

// A master that was paused past its lease acknowledges nothing that its successor's reads lack.
func TestPausedMasterAcknowledgesNothingLate(t *testing.T) {
	c := newCluster(t, 3, 4)
	old := c.awaitMaster()
	old.input(Event{Write: &Write{ID: 7, Command: kv.EncodeCommand(&kv.Command{Op: kv.OpSet, Key: "k",
		Value: []byte("old")}),
		Until: c.now + 10*time.Second}})
	c.round(old) // proposed and sent
	old.paused = true
	next := func() *testNode {
		for _, n := range c.nodes {
			if tk, ok := n.pub.Begin(); n != old && ok && n.pub.End(tk, c.now) {
				return n
			}
		}
		return nil
	}
	c.until("a successor", 2*time.Second, func() bool { return next() != nil })
	if r := c.write(next(), 8, set("k", "new"), time.Second); r.Outcome != Done {
		t.Fatalf("%+v", r)
	}
	old.paused = false
	if r := c.await(old, 7, 2*time.Second); r.Outcome != Unknown {
		t.Fatalf("the paused master answered %+v", r)
	}
	c.run(time.Second)
	if e, _, _ := old.state.Get("k"); string(e.Value) != "new" {
		t.Fatalf("the write of the paused master came after its successor's: %q", e.Value)
	}
}

func TestMinorityServesNothing(t *testing.T) {
	c := newCluster(t, 3, 5)
	c.awaitMaster()
	c.crash(c.nodes[1])
	c.crash(c.nodes[2])
	c.run(2 * testLease)
	n := c.nodes[0]
	if r := c.write(n, 1, set("k", "v"), 300*time.Millisecond); r.Outcome == Done {
		t.Fatalf("one of three acknowledged a write: %+v", r)
	}
	for id, consistent := range map[uint64]bool{2: false, 3: true} {
		n.input(Event{Read: &ReadRequest{ID: id, Consistent: consistent, Until: c.now + 300*time.Millisecond}})
		if r := c.await(n, id, 300*time.Millisecond); r.Outcome != Refused {
			t.Fatalf("one of three granted a read (consistent %v): %+v", consistent, r)
		}
	}
	c.start(c.nodes[1])
	if r := c.write(n, 4, set("k", "v"), 3*time.Second); r.Outcome != Done {
		t.Fatalf("with two of three: %+v", r)
	}
}

// A follower whose link to the master breaks does not know what became of a forwarded write, unless it may ask again.
func TestForwardedWriteAcrossABrokenLink(t *testing.T) {
	c := newCluster(t, 3, 6)
	m := c.awaitMaster()
	f := c.nodes[m.id%3]
	c.until("the follower to know the master", time.Second, func() bool { return f.log.Position().Master == m.id })
	plain, keyed := set("a", "1"), set("b", "1")
	keyed.IdemKey = "key"
	f.input(Event{Write: &Write{ID: 1, Command: kv.EncodeCommand(&plain), Until: c.now + 3*time.Second}})
	f.input(Event{Write: &Write{ID: 2, Command: kv.EncodeCommand(&keyed), Keyed: true,
		Until: c.now + 3*time.Second}})
	c.round(f)
	c.crash(m)
	if r := c.await(f, 1, 3*time.Second); r.Outcome != Unknown || r.Reason != LinkLost {
		t.Fatalf("the unkeyed write: %+v", r)
	}
	if r := c.await(f, 2, 3*time.Second); r.Outcome != Done {
		t.Fatalf("the keyed write: %+v", r)
	}
}

// A keyed write that is forwarded again and again is applied once.
func TestKeyedWriteIsAppliedOnceAcrossMasters(t *testing.T) {
	c := newCluster(t, 3, 7)
	id := uint64(0)
	for round := range 5 {
		m := c.awaitMaster()
		f := c.nodes[m.id%3]
		cmd := kv.Command{Op: kv.OpSet, Key: "counter", Value: []byte{byte(round + 1)}, HasIndex: true,
			IdemKey: fmt.Sprintf("inc%d", round)}
		if e, ok, _ := m.state.Get("counter"); ok {
			cmd.Index = e.ModifyIndex
		}
		id++
		f.input(Event{Write: &Write{ID: id, Command: kv.EncodeCommand(&cmd), Keyed: true,
			Until: c.now + 5*time.Second}})
		c.run(time.Duration(round) * time.Millisecond)
		c.crash(m)
		if r := c.await(f, id, 5*time.Second); r.Outcome != Done || r.Result.Code != kv.CodeDone {
			t.Fatalf("round %d: %+v", round, r)
		}
		c.start(m)
	}
	if e, _, _ := c.awaitMaster().state.Get("counter"); len(e.Value) != 1 || e.Value[0] != 5 {
		t.Fatalf("the counter is %v after 5 increments", e.Value)
	}
}

func TestPartitionedMasterIsReplacedAndNothingIsLost(t *testing.T) {
	for seed := range uint64(8) {
		c := newCluster(t, 3, 100+seed)
		old := c.awaitMaster()
		c.cut = func(from, to ballot.NodeID) bool { return from == old.id || to == old.id }
		for _, n := range c.nodes {
			if n != old {
				n.input(Event{Down: old.id})
				old.input(Event{Down: n.id})
			}
		}
		c.until("a successor", 3*time.Second, func() bool { m := c.master(); return m != nil && m != old })
		if r := c.write(c.master(), 1, set("k", "v"), time.Second); r.Outcome != Done {
			t.Fatalf("seed %d: %+v", seed, r)
		}
		if r := c.write(old, 2, set("k", "lost"), 300*time.Millisecond); r.Outcome == Done {
			t.Fatalf("seed %d: the cut-off node acknowledged a write", seed)
		}
		c.cut = func(_, _ ballot.NodeID) bool { return false }
		for _, n := range c.nodes {
			if n != old {
				n.input(Event{Up: old.id})
				old.input(Event{Up: n.id})
			}
		}
		c.run(time.Second)
		c.settled()
		if e, _, _ := old.state.Get("k"); string(e.Value) != "v" {
			t.Fatalf("seed %d: the old master reads %q", seed, e.Value)
		}
	}
}

// The successor of a dead master wins with its first attempt: it starts above what its own acceptor has promised to the
// old one in all its renewals.
func TestSuccessorsFirstAttemptIsNotTooLow(t *testing.T) {
	c := newCluster(t, 3, 9)
	c.awaitMaster()
	c.run(20 * testLease) // many renewals, each under a higher ballot
	old := c.awaitMaster()
	c.crash(old)
	for _, n := range c.nodes {
		clear(n.attempts)
	}
	if next := c.awaitMaster(); len(next.attempts) != 1 {
		t.Fatalf("node %d took over with attempt %d", next.id, len(next.attempts))
	}
}

// The chosen mark becomes durable late. A node that crashed after a checkpoint and before the mark must start again:
// what is in its state database was chosen.
func TestRestartWithAnStateDBAheadOfTheChosenMark(t *testing.T) {
	c := newCluster(t, 3, 10)
	for id := uint64(1); id < 1000; id++ {
		c.write(c.awaitMaster(), id, set(fmt.Sprintf("k%d", id), "v"), time.Second)
		for range TickEvery / time.Millisecond { // no write carries the mark meanwhile
			c.run(time.Millisecond)
			for _, n := range c.nodes {
				if checkpointed, _, _ := n.disk.stateDB.Loaded(); checkpointed > uint64(n.disk.durable.Chosen) {
					c.crash(n)
					c.start(n)
					c.awaitMaster()
					c.settled()
					return
				}
			}
		}
	}
	t.Fatal("no state database was ever ahead of the chosen mark: the test did not test it")
}
