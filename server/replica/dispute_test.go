package replica

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/members"
)

// newDispute returns a cluster in which nodes 2, the master, and 3 differ while node 1 is dead. 3 is the one that is
// wrong.
func newDispute(t *testing.T, seed uint64) (c *cluster, good, bad *testNode) {
	t.Helper()
	c = newClusterWith(t, 3, seed, func(cfg *Config) { cfg.Core.KeepEntries = 8 })
	c.written(20)
	good, bad = c.nodes[1], c.nodes[2]
	c.crash(c.nodes[0])
	c.load(60)
	c.until("both have a checkpoint that the third lacks", 5*time.Second, func() bool {
		return good.log.digests.agreed == good.state.Applied() && bad.log.digests.agreed == bad.state.Applied()
	})
	c.tamper(bad, "mark")
	c.until("both are alarmed", 5*time.Second, func() bool {
		return good.log.digests.dispute.Slot != 0 && bad.log.digests.dispute.Slot != 0
	})
	if c.awaitMaster() != good {
		t.Fatal("the wrong one is master; choose another seed")
	}
	c.run(2 * AliveFor)
	return c, good, bad
}

// joinWith adds a node whose state is a copy of from's checkpoint.
func (c *cluster) joinWith(r members.Record, id ballot.NodeID, from *testNode) *testNode {
	c.t.Helper()
	for len(c.nodes) < int(id) {
		c.nodes = append(c.nodes, &testNode{id: ballot.NodeID(len(c.nodes) + 1), disk: newDisk()})
	}
	n := c.nodes[id-1]
	n.disk.stateDB = from.disk.stateDB.Clone()
	slot := multipaxos.Slot(from.log.checkpoints.done)
	n.disk.durable = multipaxos.Durable{Truncated: slot, Chosen: slot, Last: slot}
	n.disk.restart, n.disk.identity = 1, r.Membership
	c.start(n)
	return n
}

// While two voters differ a copy of the wrong one becomes no voter, though it replaces a dead one. An operator takes
// the replacement back and removes the wrong one, which ends the dispute; then a copy of the right one becomes a voter,
// and one of the wrong one stops.
func TestACopyDecidesNoDispute(t *testing.T) {
	c, good, bad := newDispute(t, 82)
	r := c.change(members.Operation{ID: "replace", Kind: members.Replace, Node: 1, Unheard: true, Member: comer(4)})
	copied := c.joinWith(r, 4, bad)
	c.run(20 * time.Second)
	c.load(10)
	if !good.up || !bad.up || copied.differs != nil {
		t.Fatalf("up: %v, %v; the copy: %v", good.up, bad.up, copied.differs)
	}
	c.wantVoters("{2,3}")
	if why := good.log.changes.step.Why; !strings.Contains(why, "states of nodes [2 3] differ") {
		t.Errorf("it waits: %q", why)
	}
	c.askMembers(good, members.Request{Cancel: "replace"})
	remove := members.Operation{ID: "remove", Kind: members.Remove, Node: 3}
	if a := c.askMembers(good, members.Request{Op: remove}); a.Members.Refusal == nil ||
		a.Members.Refusal.Reason != members.Disputed {
		t.Fatalf("it does not say which is wrong, and gets %+v", a.Members)
	}
	remove.Differs = true
	c.change(remove)
	c.operationDone("remove")
	c.wantVoters("{2}")
	if good.log.digests.dispute.Slot != 0 {
		t.Errorf("there is a dispute yet: %v", good.log.digests.dispute)
	}
	r = c.change(members.Operation{ID: "wrong", Kind: members.Add, NonVoter: true, Member: comer(5)})
	wrong := c.joinWith(r, 5, bad)
	r = c.change(members.Operation{ID: "right", Kind: members.Add, Member: comer(6)})
	c.joinWith(r, 6, good)
	c.operationDone("right")
	c.wantVoters("{2,6}")
	c.until("the copy stops", 10*time.Second, func() bool { return wrong.differs != nil })
}

// A voter that differs is not removed by a replacement that began before the dispute, nor because a spare takes its
// place.
func TestNobodyInDisputeIsReplaced(t *testing.T) {
	c, good, bad := newDispute(t, 82)
	for _, n := range []*testNode{good, bad} {
		op := members.Operation{ID: "replace", Kind: members.Replace, Node: n.id, Member: comer(4)}
		if a := c.askMembers(good, members.Request{Op: op}); a.Members.Refusal == nil ||
			a.Members.Refusal.Reason != members.Disputed {
			t.Errorf("node %d: %+v", n.id, a.Members)
		}
	}
	if f := good.log.facts(c.now); !slices.Equal(f.Disputed, []ballot.NodeID{2, 3}) {
		t.Errorf("in dispute: %v", f.Disputed)
	}
	if !good.log.Status(c.now).Withheld || !bad.log.Status(c.now).Withheld {
		t.Error("they give snapshots")
	}
}

// For the right nodes a running removal of the wrong node already decides the dispute. The removal may wait for voters
// that lag, and those voters for a snapshot.
func TestARemovalUnderWayDecidesADispute(t *testing.T) {
	other := func(nodes ...ballot.NodeID) (all []DigestOf) {
		for _, n := range nodes {
			all = append(all, DigestOf{Node: n, Sum: 7})
		}
		return all
	}
	remove := members.Operation{ID: "remove", Kind: members.Remove, Node: 3, Differs: true, State: members.Running}
	change := func(f func(o *members.Operation)) members.Operation { o := remove; f(&o); return o }
	for name, c := range map[string]struct {
		self  ballot.NodeID
		other []DigestOf
		op    members.Operation
		want  bool
	}{
		"the wrong one goes":           {2, other(3), remove, true},
		"it is this one":               {3, other(2), remove, false},
		"another one differs too":      {2, other(3, 4), remove, false},
		"another one differs":          {2, other(4), remove, false},
		"not as the wrong one":         {2, other(3), change(func(o *members.Operation) { o.Differs = false }), false},
		"the operation was taken back": {2, other(3), change(func(o *members.Operation) { o.State = members.Cancelled }), false},
	} {
		d := Dispute{Slot: 9, Own: 8, Other: c.other}
		if got := d.decided(c.self, &members.Record{Operations: []members.Operation{c.op}}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A node becomes a voter while checkpoints run all the time, however long each takes: every node compares the slot of
// the record, also if it is busy with another checkpoint then.
func TestStatesAreComparedUnderLoad(t *testing.T) {
	for _, takes := range []time.Duration{0, 300 * time.Millisecond, 4 * time.Second} {
		for seed := range uint64(10) { // in some of them two of the voters are busy at the same time
			t.Run(fmt.Sprintf("%s-%d", takes, seed), func(t *testing.T) { comparesUnderLoad(t, 80+seed, takes) })
		}
	}
}

// comparesUnderLoad adds a node while checkpoints that take so long run all the time.
func comparesUnderLoad(t *testing.T, seed uint64, takes time.Duration) {
	bytes := max(int64(takes/time.Millisecond)*5, 1<<10)
	c := newClusterWith(t, 3, seed, func(cfg *Config) {
		cfg.CheckpointBytes, cfg.CompareEvery, cfg.Core.KeepEntries = bytes, time.Hour, 1<<12
	})
	c.load(20)
	c.checkpointFor = takes
	n := c.add("add", members.Operation{Kind: members.Add, Member: comer(4)})
	for end := c.now + 30*time.Second; ; c.run(10 * time.Millisecond) {
		master := c.awaitMaster()
		if master.log.members.voters.Has(n.id) {
			return
		}
		if c.now > end {
			t.Fatalf("it waits: %q", master.log.changes.step.Why)
		}
		c.loads++
		command := set(fmt.Sprint("k", c.loads%1000), "v")
		master.input(Event{Write: &Write{ID: 1_000_000 + c.loads, Command: kv.EncodeCommand(&command),
			Until: c.now + time.Second}})
	}
}

// What is compared is the node's own checkpoint, of a slot behind the newest record, with those of distinct voters.
func TestWhoseStateIsConfirmed(t *testing.T) {
	voters := quorum.Of(1, 2, 3)
	peer := func(node ballot.NodeID, slot, sum uint64) peerView {
		return peerView{node: node, digests: []Digest{{Slot: slot, Sum: sum}}}
	}
	own := digests{told: []Digest{{Slot: 50, Sum: 7}}}
	for _, x := range []struct {
		name  string
		from  uint64
		self  ballot.NodeID
		peers []peerView
		want  bool
	}{
		{"with this node and another", 50, 1, []peerView{peer(2, 50, 7), peer(3, 50, 8), peer(4, 50, 7)}, true},
		{"with this node alone", 50, 1, []peerView{peer(2, 50, 8), peer(4, 50, 7)}, false},
		{"with this node, which is no voter", 50, 5, []peerView{peer(2, 50, 7), peer(4, 50, 7)}, false},
		{"with the others", 40, 1, []peerView{peer(2, 40, 9), peer(3, 40, 9), peer(4, 40, 9)}, true},
		{"before the record", 51, 1, []peerView{peer(2, 50, 7), peer(3, 50, 7), peer(4, 50, 7)}, false},
		{"it differs", 50, 1, []peerView{peer(2, 50, 7), peer(3, 50, 7), peer(4, 50, 8)}, false},
		{"it has told nothing", 50, 1, []peerView{peer(2, 50, 7), peer(3, 50, 7)}, false},
	} {
		if got := own.confirmed(4, x.from, x.self, voters, x.peers); got != x.want {
			t.Errorf("%s: %v", x.name, got)
		}
	}
}
