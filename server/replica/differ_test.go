package replica

import (
	"fmt"
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/replica/elector"
)

// tamper changes a value in the state database of a node while it is down, as no command would, and starts it again.
func (c *cluster) tamper(n *testNode, key string) {
	c.t.Helper()
	c.crash(n)
	n.checkpointing = nil
	view, _ := n.disk.stateDB.View()
	record, err := view.Get(kv.KindData, []byte(key))
	if err != nil || record == nil {
		c.t.Fatalf("node %d has no checkpoint with %s: %v", n.id, key, err)
	}
	other := append([]byte(nil), record...)
	other[len(other)-1] ^= 1
	n.disk.stateDB.Tamper(kv.KindData, []byte(key), other)
	c.start(n)
}

// written writes some keys, and "mark", and waits until every node has them in a checkpoint.
func (c *cluster) written(keys int) {
	c.t.Helper()
	c.load(keys)
	c.loads++
	c.write(c.awaitMaster(), 1_000_000+c.loads, set("mark", "v"), time.Second)
	c.until("every node has a checkpoint that rests", 5*time.Second, func() bool {
		for _, n := range c.nodes {
			if n.up && (n.log.checkpoints.done != n.state.Applied() || n.log.digests.agreed != n.state.Applied()) {
				return false
			}
		}
		return true
	})
}

// load writes some keys.
func (c *cluster) load(keys int) {
	c.t.Helper()
	for i := range keys {
		c.loads++
		if r := c.write(c.awaitMaster(), 1_000_000+c.loads, set(fmt.Sprintf("k%d", i), "v"),
			time.Second); r.Outcome != Done {
			c.t.Fatalf("%+v", r)
		}
	}
}

// A node that differs from a majority stops and says so, master or not, and the others go on.
func TestTheOneThatDiffersStops(t *testing.T) {
	for seed := range uint64(3) {
		c := newCluster(t, 3, 70+seed)
		c.written(20)
		bad := c.awaitMaster()
		if seed > 0 {
			bad = c.nodes[seed]
		}
		c.tamper(bad, "mark")
		c.awaitMaster()
		c.until("it stops", 5*time.Second, func() bool { return bad.differs != nil })
		if bad.up || bad.differs.Own == bad.differs.All || len(bad.differs.Agree) != 2 {
			t.Fatalf("%+v", bad.differs)
		}
		c.load(40)
		for _, n := range c.nodes {
			if n != bad && (n.differs != nil || n.log.digests.dispute.Slot != 0) {
				t.Errorf("seed %d: node %d: %v %+v", seed, n.id, n.differs, n.log.digests.dispute)
			}
		}
	}
}

// Under load it is found too: the slots are those that all take.
func TestADifferenceUnderLoadIsFound(t *testing.T) {
	c := newCluster(t, 3, 80)
	c.written(20)
	bad := c.nodes[1]
	c.tamper(bad, "mark")
	for i := 0; bad.differs == nil; i++ {
		if i > 3000 {
			t.Fatal("not found")
		}
		c.loads++
		c.write(c.awaitMaster(), 1_000_000+c.loads, set(fmt.Sprintf("other%d", i%50), "v"), 2*time.Second)
	}
}

// A difference is also found while checkpoints run nearly all the time, at different times on each node, however long
// each takes. A node that is busy when a chosen slot passes makes the checkpoint of that slot afterwards.
func TestADifferenceIsFoundWhileCheckpointsRun(t *testing.T) {
	for _, takes := range []time.Duration{300 * time.Millisecond, 4 * time.Second} {
		t.Run(takes.String(), func(t *testing.T) {
			c := newClusterWith(t, 3, 83, func(cfg *Config) {
				cfg.CheckpointBytes, cfg.Core.KeepEntries = int64(takes/time.Millisecond)*5, 1<<12
			})
			c.written(20)
			bad := c.nodes[1]
			c.checkpointFor = takes
			begun := c.now + 5*takes
			for tampered := false; bad.differs == nil; c.run(10 * time.Millisecond) {
				if c.now > begun && !tampered {
					bad.disk.stateDB.Tamper(kv.KindData, []byte("mark"), []byte{1, 0, 1, 1, 0, 'x'})
					tampered = true
				}
				if c.now > begun+2*takes+2*time.Second { // CompareEvery is a second
					t.Fatal("not found")
				}
				c.loads++
				command := set(fmt.Sprint("k", c.loads%1000), "v")
				c.awaitMaster().input(Event{Write: &Write{ID: 1_000_000 + c.loads, Command: kv.EncodeCommand(&command),
					Until: c.now + time.Second}})
			}
		})
	}
}

// A master that differs lets go of its lease before it ends: the others need not wait for its time.
func TestAMasterThatDiffersLetsGoFirst(t *testing.T) {
	c := newCluster(t, 3, 81)
	c.written(20)
	bad := c.awaitMaster()
	c.load(1)
	bad.log.digests.add(Digest{Slot: bad.state.Applied(), Sum: 1}, true) // what is in memory is enough
	for _, n := range c.nodes {
		if n != bad {
			n.log.digests.add(Digest{Slot: bad.state.Applied(), Sum: 2}, true)
		}
	}
	c.until("it stops", 5*time.Second, func() bool { return bad.differs != nil })
	released := false
	for _, g := range bad.letGo {
		released = released || g.Reason == elector.ReasonDiffers
	}
	if _, held := bad.pub.Begin(); !released || held {
		t.Fatalf("it ended as master: let go %v, published %+v", bad.letGo, bad.pub)
	}
	c.awaitMaster()
}

// "If only two answer and differ, neither stops: alarm, no truncation", until a third settles it.
func TestTwoThatDifferWaitForAThird(t *testing.T) {
	c := newClusterWith(t, 3, 82, func(cfg *Config) { cfg.Core.KeepEntries = 40 })
	c.written(20)
	third, bad := c.nodes[0], c.nodes[2]
	good := c.nodes[1]
	c.crash(third) // it has told of earlier slots, and that would count
	c.load(5)
	c.until("both have a checkpoint that the third lacks", 5*time.Second, func() bool {
		return good.log.digests.agreed == good.state.Applied() && bad.log.digests.agreed == bad.state.Applied()
	})
	c.tamper(bad, "mark")
	c.until("both are alarmed", 5*time.Second, func() bool {
		return good.log.digests.dispute.Slot != 0 && bad.log.digests.dispute.Slot != 0
	})
	c.run(2 * testLease) // the acceptor of the node that was restarted is silent, and no lease is renewed without it
	truncated := []uint64{uint64(good.log.core.Truncated()), uint64(bad.log.core.Truncated())}
	c.load(150)
	c.run(3 * time.Second)
	for i, n := range []*testNode{good, bad} {
		if !n.up || n.log.Status(c.now).Dispute.Slot == 0 {
			t.Fatalf("node %d: up %v, %+v", n.id, n.up, n.log.digests.dispute)
		}
		if got := uint64(n.log.core.Truncated()); got != truncated[i] {
			t.Errorf("node %d has truncated its log from slot %d to %d while nobody knew who is right", n.id,
				truncated[i], got)
		}
	}
	c.start(third)
	c.until("the third tells", 8*time.Second, func() bool { return bad.differs != nil })
	c.until("the alarm is over", time.Second, func() bool { return good.log.digests.dispute.Slot == 0 })
	c.load(100)
	c.until("the log is truncated again", 3*time.Second, func() bool {
		return uint64(good.log.core.Truncated()) > truncated[0]
	})
}

// Nobody is accused wrongly: by restarts, lost heartbeats, checkpoints at other slots, nodes that lag.
func TestNodesThatAreAlikeAreNotAccused(t *testing.T) {
	c := newCluster(t, 3, 83)
	for round := range 12 {
		c.load(25)
		n := c.nodes[c.random.IntN(3)]
		c.crash(n)
		if round%2 == 0 {
			c.load(25)
		}
		c.start(n)
		c.run(time.Duration(c.random.IntN(1500)) * time.Millisecond)
	}
	c.written(1)
	for _, n := range c.nodes {
		if n.differs != nil || n.log.digests.dispute.Slot != 0 {
			t.Errorf("node %d: %v %+v", n.id, n.differs, n.log.digests.dispute)
		}
	}
}

// A node without digests, or with digests of another format, is not compared.
func TestOtherFormatsAreNotCompared(t *testing.T) {
	c := newCluster(t, 3, 84)
	c.written(20)
	n := c.nodes[1]
	for i := range n.log.members.peers {
		p := &n.log.members.peers[i]
		other := []Digest{{n.log.digests.newest.Slot, 1}}
		n.log.hear(c.now, p.node, Heartbeat{DigestFormat: kv.DigestFormat + 1, Digests: other})
		if p.digests != nil {
			t.Error("digests of another format are kept")
		}
		n.log.hear(c.now, p.node, Heartbeat{})
	}
	if err := n.log.digests.compare(n.id, n.log.members.voters, n.log.members.peers); err != nil {
		t.Error(err)
	}
}
