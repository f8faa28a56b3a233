package replica

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/members"
	"tenure/server/replica/elector"
)

// putInForce is what the runner does for effect.Members: first the disk, then the elector, then the log part hears.
func (c *cluster) putInForce(n *testNode) {
	m := n.inForce
	if m == nil || n.frozen {
		return
	}
	n.inForce = nil
	if m.Newer(n.disk.identity) {
		n.disk.identity = *m
	}
	if _, _, ok := m.Find(n.id); !ok {
		n.removed = true
	}
	c.stepLease(n, elector.Event{Membership: &members.InForce{Number: m.Number, Voters: m.Voters(), Era: m.Era}})
	c.tellInForce(n)
}

// tellInForce tells the log part which membership the elector goes by.
func (c *cluster) tellInForce(n *testNode) {
	number, excluding := n.elector.InForce(c.now)
	n.input(Event{InForce: &MembersInForce{Number: number, Excluding: excluding, Silent: excluding}})
}

// handOver is what the runner does when the log part asks for relief.
func (c *cluster) handOver(n *testNode) {
	if n.handsOver == nil {
		return
	}
	var release *elector.Release
	n.input(Event{Call: func(now time.Duration) { release = n.handsOver.Step(n.log, now) }})
	if c.stepLog(n); release == nil {
		return
	}
	n.handsOver = nil
	c.stepLease(n, elector.Event{Release: release})
	n.input(Event{Call: func(time.Duration) { n.log.Resume() }})
}

// keepsAll has no log truncated: a node that joins gets all of it, and needs no snapshot.
func keepsAll(cfg *Config) { cfg.CheckpointLogBytes, cfg.CheckpointBytes = 1<<40, 1<<40 }

// join adds a node to the simulation that the record lists under that id, with an empty disk. It keeps silent as after a
// restart.
func (c *cluster) join(r members.Record, id ballot.NodeID) *testNode {
	c.t.Helper()
	for len(c.nodes) < int(id) {
		c.nodes = append(c.nodes, &testNode{id: ballot.NodeID(len(c.nodes) + 1), disk: newDisk()})
	}
	n := c.nodes[id-1]
	n.disk.restart, n.disk.identity = 1, r.Membership
	if _, _, ok := r.Membership.Find(id); !ok {
		c.t.Fatalf("node %d joins a membership %v without it", id, r.Membership)
	}
	c.start(n)
	return n
}

// askMembers asks a node, and waits for its answer.
func (c *cluster) askMembers(n *testNode, q members.Request) Reply {
	c.t.Helper()
	c.lastID++
	id := 1<<40 + c.lastID
	n.input(Event{Members: &MembersRequest{ID: id, Request: q, Until: c.now + time.Second}})
	return c.await(n, id, 2*time.Second)
}

// change has the master, whoever it is, begin an operation. It asks again, with the operation's id, when the answer is
// lost or another node is the master.
func (c *cluster) change(op members.Operation) members.Record {
	c.t.Helper()
	for range 50 {
		r := c.askMembers(c.awaitMaster(), members.Request{Op: op})
		if r.Members.Refusal != nil {
			c.t.Fatalf("%v: %v", op, r.Members.Refusal)
		}
		if r.Outcome == Done {
			return r.Members.Record
		}
		c.run(20 * time.Millisecond)
	}
	c.t.Fatalf("%v was never begun", op)
	return members.Record{}
}

// record is what the master has applied.
func (c *cluster) record() members.Record { return c.awaitMaster().log.changes.record }

// operationDone waits until the operation is done, and its membership settled.
func (c *cluster) operationDone(id string) {
	c.t.Helper()
	c.until("the end of "+id, 20*time.Second, func() bool {
		m := c.master()
		if m == nil {
			return false
		}
		r := m.log.changes.record
		o, ok := r.Operation(id)
		return ok && o.State == members.Done && r.IsSettled()
	})
}

// voters fails the test unless these are the voters.
func (c *cluster) wantVoters(want string) {
	c.t.Helper()
	if got := fmt.Sprint(c.record().Membership.Voters()); got != want {
		c.t.Fatalf("voters %s, want %s", got, want)
	}
}

// comer is a node that is to join.
func comer(n int) ident.Member { return ident.Member{Store: ident.StoreID{byte(n), 7}} }

// add has a node join, and returns it when it has started.
func (c *cluster) add(id string, op members.Operation) *testNode {
	c.t.Helper()
	op.ID = id
	r := c.change(op)
	m, ok := r.WithStore(op.Member.Store)
	if !ok {
		c.t.Fatalf("%+v does not list the new member", r)
	}
	return c.join(r, m.Node)
}
