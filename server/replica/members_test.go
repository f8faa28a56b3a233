package replica

import (
	"fmt"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
	"tenure/server/members"
	"tenure/server/replica/elector"
)

// writes has every node that takes some write something, and fails the test if none is done.
func (c *cluster) writes(label string) {
	c.t.Helper()
	m := c.awaitMaster()
	for i := range 5 {
		c.lastID++
		if r := c.write(m, c.lastID, set(fmt.Sprintf("%s.%d", label, i), "v"), time.Second); r.Outcome == Refused {
			c.t.Fatalf("write %d of %s: %+v", i, label, r)
		}
	}
}

func TestANodeIsAdded(t *testing.T) {
	c := newClusterWith(t, 3, 21, keepsAll)
	c.writes("before")
	n := c.add("add", members.Operation{Kind: members.Add, Member: comer(4)})
	c.operationDone("add")
	c.wantVoters("{1,2,3,4}")
	c.until("the new node to go by it", time.Second, func() bool {
		number, _ := n.elector.InForce(c.now)
		return number == 2
	})
	if e := c.record().Membership.Era; e != 1 || n.state.Eras() != 1 {
		t.Fatalf("era %d, and %d were allotted", e, n.state.Eras())
	}
	// It counts: with two of the four gone nothing is chosen, with one of them back it is.
	c.crash(c.nodes[0])
	c.crash(c.nodes[1])
	c.run(2 * testLease)
	if r := c.write(n, 77, set("k", "v"), 300*time.Millisecond); r.Outcome == Done {
		t.Fatalf("two of four acknowledged a write: %+v", r)
	}
	c.start(c.nodes[0])
	c.writes("after")
	c.start(c.nodes[1])
	c.settled()
}

// When an addition is done any majority of the voters can elect: of two and a third, whichever two are left.
func TestWhenAnAdditionIsDoneAnyMajorityElects(t *testing.T) {
	for seed := range uint64(8) {
		for gone := range 3 {
			c := newClusterWith(t, 2, 100+seed, keepsAll)
			c.quarantine = 10 * time.Second
			c.writes("before")
			n := c.add("add", members.Operation{Kind: members.Add, Member: comer(3)})
			var chosen time.Duration // the third hears of it later
			c.cut = func(_, to ballot.NodeID) bool {
				if m := c.master(); chosen == 0 && m != nil && m.log.members.newest.Number == 2 {
					chosen = c.now
				}
				return to == n.id && chosen > 0 && c.now-chosen < time.Second/2
			}
			c.until("the end", 20*time.Second, func() bool {
				m := c.master()
				if m == nil {
					return false
				}
				o, ok := m.log.changes.record.Operation("add")
				return ok && o.State == members.Done && o.Problem == ""
			})
			if n.log.members.newest.Number != 2 {
				t.Fatalf("seed %d: the third goes by %v", seed, n.log.members.newest)
			}
			c.crash(c.nodes[gone])
			c.until("another master", 10*testLease, func() bool {
				m := c.master()
				return m != nil && m != c.nodes[gone]
			})
		}
	}
}

func TestANonVoterIsARead(t *testing.T) {
	c := newClusterWith(t, 3, 22, keepsAll)
	n := c.add("add", members.Operation{Kind: members.Add, NonVoter: true, Member: comer(4)})
	c.writes("some")
	c.until("it to follow", 2*time.Second, func() bool { return n.log.Position().Master != 0 })
	for i, consistent := range []bool{false, true} {
		id := uint64(500 + i)
		n.input(Event{Read: &ReadRequest{ID: id, Consistent: consistent, Until: c.now + time.Second}})
		if r := c.await(n, id, time.Second); r.Outcome != Done || r.Ticketed {
			t.Fatalf("a read (consistent %v) at a non-voter: %+v", consistent, r)
		}
	}
	if r := c.write(n, 600, set("through", "it"), time.Second); r.Outcome != Done {
		t.Fatalf("a write through a non-voter: %+v", r)
	}
	// Its votes and its lease count for nothing.
	c.crash(c.nodes[0])
	c.crash(c.nodes[1])
	c.run(5 * testLease)
	if len(n.attempts) > 0 || n.log.core.Phase() != 0 {
		t.Fatal("a non-voter tried to be master")
	}
	if r := c.write(n, 601, set("k", "v"), 300*time.Millisecond); r.Outcome == Done {
		t.Fatalf("one voter and a non-voter acknowledged a write: %+v", r)
	}
	if m := c.master(); m != nil {
		t.Fatalf("node %d is master with one voter of three", m.id)
	}
}

func TestANodeIsRemoved(t *testing.T) {
	c := newClusterWith(t, 3, 23, keepsAll)
	gone := c.nodes[c.awaitMaster().id%3]
	c.change(members.Operation{ID: "op", Kind: members.Remove, Node: gone.id})
	c.operationDone("op")
	if !gone.removed {
		t.Fatal("the removed node has not learned it")
	}
	c.run(5 * testLease) // it runs on, and disturbs nobody
	c.crash(gone)
	c.writes("after")
	if v := c.record().Membership.Voters(); v.Len() != 2 || v.Has(gone.id) {
		t.Fatalf("voters %v", v)
	}
}

func TestTheMasterIsRemoved(t *testing.T) {
	c := newClusterWith(t, 3, 24, keepsAll)
	old := c.awaitMaster()
	c.change(members.Operation{ID: "op", Kind: members.Remove, Node: old.id})
	c.operationDone("op")
	if m := c.awaitMaster(); m == old {
		t.Fatal("the removed node is master")
	}
	if len(old.letGo) > 0 {
		t.Fatalf("it did not hand over but let go: %v", old.letGo)
	}
	c.writes("after")
}

func TestALiveNodeIsReplaced(t *testing.T) {
	c := newClusterWith(t, 3, 25, keepsAll)
	c.writes("before")
	old := c.awaitMaster()
	least, most := 3, 3
	c.add("op", members.Operation{Kind: members.Replace, Node: old.id, Member: comer(4)})
	c.until("the end", 20*time.Second, func() bool {
		if m := c.master(); m != nil {
			r := m.log.changes.record
			least, most = min(least, len(r.Membership.Members)), max(most, len(r.Membership.Members))
			_, runs := r.Running()
			return !runs && r.IsSettled()
		}
		return false
	})
	if least != 3 || most != 4 {
		t.Fatalf("there were %d to %d voters", least, most)
	}
	c.writes("after")
	if c.record().Membership.Voters().Has(old.id) {
		t.Fatal("the old one votes yet")
	}
}

func TestADeadNodeIsReplaced(t *testing.T) {
	c := newClusterWith(t, 3, 26, keepsAll)
	c.writes("before")
	dead := c.nodes[c.awaitMaster().id%3]
	c.crash(dead)
	c.run(2 * AliveFor)
	n := c.add("op", members.Operation{Kind: members.Replace, Node: dead.id, Unheard: true, Member: comer(4)})
	c.operationDone("op")
	if v := c.record().Membership.Voters(); v.Has(dead.id) || !v.Has(n.id) || v.Len() != 3 {
		t.Fatalf("voters %v", v)
	}
	for _, o := range c.nodes { // any one of the three may fail now
		if o == dead {
			continue
		}
		c.crash(o)
		c.writes(fmt.Sprint("without ", o.id))
		c.start(o)
		c.run(testLease)
	}
}

// Two operators: one operation runs at a time, and the second is told which.
func TestASecondOperationIsRefused(t *testing.T) {
	c := newClusterWith(t, 3, 27, keepsAll)
	c.change(members.Operation{ID: "first", Kind: members.Add, Member: comer(4)})
	r := c.askMembers(c.awaitMaster(), members.Request{Op: members.Operation{ID: "second", Kind: members.Remove, Node: 2}})
	if r.Outcome != Refused || r.Members.Refusal == nil || r.Members.Refusal.Reason != members.Busy {
		t.Fatalf("%+v", r)
	}
	r = c.askMembers(c.awaitMaster(), members.Request{Cancel: "first"})
	if r.Outcome != Done {
		t.Fatalf("%+v", r)
	}
	c.change(members.Operation{ID: "second", Kind: members.Remove, Node: 2})
	c.operationDone("second")
	c.wantVoters("{1,3}")
}

func TestADryRunChangesNothing(t *testing.T) {
	c := newClusterWith(t, 3, 28, keepsAll)
	m := c.awaitMaster()
	before := m.state.Applied()
	r := c.askMembers(m, members.Request{DryRun: true, Op: members.Operation{ID: "op", Kind: members.Remove, Node: m.id}})
	if r.Outcome != Done || len(r.Members.Plan.Steps) == 0 || r.Members.Plan.After.Voters != 2 {
		t.Fatalf("%+v", r)
	}
	c.run(2 * testLease)
	if c.wantVoters("{1,2,3}"); m.state.Applied() != before {
		t.Fatal("it wrote something")
	}
}

func TestAFollowerNamesTheMaster(t *testing.T) {
	c := newClusterWith(t, 3, 29, keepsAll)
	m := c.awaitMaster()
	f := c.nodes[m.id%3]
	c.until("it to know the master", time.Second, func() bool { return f.log.Position().Master == m.id })
	r := c.askMembers(f, members.Request{Op: members.Operation{ID: "op", Kind: members.Remove, Node: 2}})
	if r.Outcome != Refused || r.Reason != NoMaster || r.Members.Master != m.id {
		t.Fatalf("%+v", r)
	}
}

// The master dies with the answer on its way. Whoever asks again gets the outcome of the one operation that began.
func TestALostAnswerIsAskedForAgain(t *testing.T) {
	for wait := range 12 {
		c := newClusterWith(t, 3, 300+uint64(wait), keepsAll)
		m := c.awaitMaster()
		op := members.Operation{ID: "op", Kind: members.Add, NonVoter: true, Member: comer(4)}
		m.input(Event{Members: &MembersRequest{ID: 1, Request: members.Request{Op: op}, Until: c.now + time.Second}})
		c.run(time.Duration(wait) * time.Millisecond)
		c.crash(m)
		r := c.change(op)
		if n := r.NextNode; n != 5 || len(r.Membership.NonVoters) != 1 || len(r.Operations) != 1 {
			t.Fatalf("after %d ms: %+v", wait, r)
		}
	}
}

// The longest lease of the master passes between two changes of the voters, on the clock of the master.
func TestTheNextChangeWaitsForTheOldLeases(t *testing.T) {
	c := newClusterWith(t, 5, 30, keepsAll)
	m := c.awaitMaster()
	var at []time.Duration
	for _, node := range []ballot.NodeID{1, 2, 3, 4, 5} {
		if node != m.id && len(at) < 2 {
			c.change(members.Operation{ID: fmt.Sprint(node), Kind: members.Remove, Node: node})
			number := c.record().Membership.Number
			c.until("the change", 5*time.Second, func() bool {
				return m.log.changes.record.Membership.Number > number || m.log.changes.record.Membership.Number == uint64(len(at)+2)
			})
			at = append(at, c.now)
		}
	}
	least, err := testTiming.Quarantine()
	c.must(err)
	if took := at[1] - at[0]; took < least {
		t.Fatalf("the second change came %v after the first, the longest lease excludes for %v", took, least)
	}
}

// A change of master in the middle of a replacement, at any of its steps: the next one goes on with it.
func TestReplacementGoesOnAfterAChangeOfMaster(t *testing.T) {
	for seed := range uint64(25) {
		for _, dead := range []bool{false, true} {
			c := newClusterWith(t, 3, 400+seed, keepsAll)
			c.writes("before")
			old := c.nodes[c.awaitMaster().id%3]
			if dead {
				c.crash(old)
				c.run(2 * AliveFor)
			}
			n := c.add("op", members.Operation{Kind: members.Replace, Node: old.id, Member: comer(4)})
			c.run(time.Duration(seed) * 137 * time.Millisecond)
			if m := c.master(); m != nil {
				c.crash(m)
				c.run(3 * testLease)
				c.start(m)
			}
			c.operationDone("op")
			if v := c.record().Membership.Voters(); v.Has(old.id) || !v.Has(n.id) || v.Len() != 3 {
				t.Fatalf("seed %d, dead %v: voters %v", seed, dead, v)
			}
			c.writes("after")
		}
	}
}

// All nodes crash at any moment of a change, before any checkpoint: the log tells them who decides its slots.
func TestRestartOfAllNodesInTheMiddleOfAChange(t *testing.T) {
	for wait := range 40 {
		c := newClusterWith(t, 3, 500+uint64(wait), keepsAll)
		m := c.awaitMaster()
		op := members.Operation{ID: "op", Kind: members.Remove, Node: m.id%3 + 1}
		m.input(Event{Members: &MembersRequest{ID: 1, Request: members.Request{Op: op}, Until: c.now + time.Second}})
		c.run(time.Duration(wait) * time.Millisecond)
		for _, n := range c.nodes {
			c.crash(n)
		}
		c.net = nil
		for _, n := range c.nodes {
			c.start(n)
		}
		c.change(op)
		c.operationDone("op")
		c.writes("after")
	}
}

// Of {1,2,3,4,5} two were removed while node 5 was cut off. With node 3 alone it is a majority of {3,4,5}, and it must
// learn of both changes before it is any use.
func TestANodeTwoChangesBehindServesAgain(t *testing.T) {
	for seed := range uint64(10) {
		c := newClusterWith(t, 5, 600+seed, keepsAll)
		c.writes("before")
		behind := c.nodes[c.awaitMaster().id%5]
		c.crash(behind)
		removed := 0
		for _, n := range c.nodes {
			if n != behind && n != c.awaitMaster() && removed < 2 {
				id := fmt.Sprint("remove ", n.id)
				c.change(members.Operation{ID: id, Kind: members.Remove, Node: n.id})
				c.operationDone(id)
				removed++
				n.removed = true
				c.crash(n)
			}
		}
		c.writes("meanwhile")
		c.crash(c.awaitMaster())
		c.start(behind)
		c.writes("after")
		if v := c.record().Membership.Voters(); v.Len() != 3 || !v.Has(behind.id) {
			t.Fatalf("voters %v", v)
		}
		if _, ok, err := behind.state.Get("meanwhile.4"); !ok || err != nil {
			t.Fatalf("seed %d: node %d lacks what was acknowledged while it was away: %v", seed, behind.id, err)
		}
	}
}

// A removed node that was away and comes back as it was is no use to a majority of what was.
func TestARemovedNodeElectsNobody(t *testing.T) {
	c := newClusterWith(t, 3, 31, keepsAll)
	m := c.awaitMaster()
	gone := c.nodes[m.id%3]
	other := c.nodes[(m.id+1)%3]
	c.crash(gone)
	c.run(2 * AliveFor)
	c.change(members.Operation{ID: "op", Kind: members.Remove, Node: gone.id})
	c.operationDone("op")
	c.crash(m)
	c.run(2 * testLease)
	c.start(gone) // with the other it was a majority of {1,2,3}
	c.run(10 * testLease)
	if n := c.master(); n != nil {
		t.Fatalf("node %d is master, and of {%d,%d} only one is alive", n.id, m.id, other.id)
	}
	c.start(m)
	c.writes("after")
}

// A membership is handed out once it is chosen, applied, and durable here with all entries below it. Heartbeats report
// it once it is in force.
func TestAMembershipIsInForceOnlyWhenChosen(t *testing.T) {
	b := newBench(t, 1, 2)
	p := b.lead(tenure(1, 90*sec))
	told := func() uint64 { return b.log.heartbeat(b.now).Membership }
	b.give(Event{Members: &MembersRequest{ID: 1, Until: 90 * sec,
		Request: members.Request{Op: members.Operation{ID: "op", Kind: members.Remove, Node: 2}}}})
	handed := false
	for i := range 40 {
		if i%4 == 0 {
			b.give(Event{Tick: true})
		}
		b.run(sec+time.Duration(i)*TickEvery, p)
		if m := b.given; m != nil {
			handed = true
			if in := b.log.changes.record.Membership; m.Number != 2 || in.Number != 2 || b.log.core.SyncedThrough() != b.log.Position().Chosen {
				t.Fatalf("round %d: membership %v was handed out, the state has %v, synced through %d of %d", i, m, in,
					b.log.core.SyncedThrough(), b.log.Position().Chosen)
			}
			b.given = nil
		}
		if told() != 1 {
			t.Fatal("the heartbeats tell of a membership that is not in force")
		}
		switch i % 4 {
		case 1: // first the other node, then the own disk
			b.answerAsPeer()
		case 3:
			b.sync()
		}
	}
	if !handed || b.replies[1].Outcome != Done {
		t.Fatalf("handed out: %v, answer %+v", handed, b.replies[1])
	}
	b.give(Event{InForce: &MembersInForce{Number: 2, Excluding: time.Second}})
	b.run(20*sec, p)
	if h := b.log.heartbeat(20*sec + sec/4); h.Membership != 2 || h.Excluding != 3*time.Second/4 {
		t.Fatalf("%+v", h)
	}
}

// The answer to an operation is given under the lease, as that to a write is.
func TestAnOperationIsAcknowledgedUnderTheLease(t *testing.T) {
	for _, held := range []bool{true, false} {
		b := newBench(t, 1)
		p := b.settle(0, tenure(1, 90*sec))
		b.give(Event{Members: &MembersRequest{ID: 1, Until: 200 * sec,
			Request: members.Request{Op: members.Operation{ID: "op", Kind: members.Update, Node: 1, Member: comer(1)}}}})
		b.give(Event{Members: &MembersRequest{ID: 2, Until: 200 * sec, Request: members.Request{DryRun: true,
			Op: members.Operation{ID: "op2", Kind: members.Update, Node: 1, Member: comer(1)}}}})
		at := sec
		if !held {
			at = 91 * sec
		}
		b.runInto(sec, p, at, p)
		b.sync()
		b.runInto(sec, p, at, p)
		b.sync()
		b.runInto(sec, p, at, p)
		for id := uint64(1); id <= 2; id++ {
			r := b.replies[id]
			if r.Members == nil || (r.Outcome == Refused && r.Members.Refusal != nil) != held || (r.Outcome == Unknown) == held {
				t.Fatalf("held: %v, answer %d: %+v", held, id, r)
			}
		}
	}
}

// Whoever leads when a record is applied that makes it no voter lets the lease go.
func TestALeaderThatVotesNoMoreLetsGo(t *testing.T) {
	b := newBench(t, 1, 2)
	p := b.lead(tenure(1, 90*sec))
	r := b.log.changes.record
	r.Before, r.Membership.Number, r.Membership.Era = r.Membership.Members, 2, 1
	r.Membership.Members = r.Membership.Members[1:]
	if _, ok := b.log.core.ProposeMembership(membersValue(&r)); !ok {
		t.Fatal("not proposed")
	}
	for range 10 {
		b.run(sec, p)
		b.sync()
		b.answerAsPeer()
	}
	if b.tick(sec, p); b.log.letGo != (elector.LetGo{Tenure: 1, Reason: elector.ReasonNoVoter}) || b.log.epoch.tenure != 0 {
		t.Fatalf("lets go of %+v, leads for tenure %d", b.log.letGo, b.log.epoch.tenure)
	}
}

// More members than a set of voters holds.
func TestNonVotersCountForNoQuorum(t *testing.T) {
	m := testMembers(quorum.Of(1, 2, 3))
	for i := range ident.MaxNonVoters {
		m.NonVoters = append(m.NonVoters, ident.Member{Node: ballot.NodeID(10 + i), Store: ident.StoreID{9}})
	}
	v := newMembers(1, m)
	for _, x := range m.NonVoters {
		v.connected(x.Node, true)
	}
	if v.quorumWith(true) || v.quorumConnected() {
		t.Fatal("non-voters make a quorum")
	}
	v.connected(3, true)
	if !v.quorumWith(true) || !v.quorumConnected() {
		t.Fatal("two of three make none")
	}
}

// All members have what the last of them has, and one that was never heard has nothing. Others do not count.
func TestWhatAllMembersHave(t *testing.T) {
	v := newMembers(1, testMembers(quorum.Of(1, 2, 3)))
	v.connected(9, true)
	for _, step := range []struct {
		from          ballot.NodeID
		applied, want uint64
	}{{2, 50, 0}, {9, 1, 0}, {3, 40, 40}, {3, 90, 50}, {2, 200, 90}, {3, 300, 100}} {
		v.hear(sec, step.from, Heartbeat{Applied: step.applied})
		if got := v.allHave(100); got != step.want {
			t.Errorf("after node %d has %d: %d, want %d", step.from, step.applied, got, step.want)
		}
	}
}
