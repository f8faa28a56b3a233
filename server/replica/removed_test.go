package replica

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/multipaxos"
	"tenure/server/members"
	"tenure/server/replica/elector"
)

// without is the record that removes a voter from the first membership of b.
func (b *bench) without(gone ballot.NodeID) members.Record {
	r := b.log.changes.record
	r.Before, r.Membership.Number, r.Membership.Era = r.Membership.Members, 2, 1
	r.Membership.Members = nil
	for _, m := range r.Before {
		if m.Node != gone {
			r.Membership.Members = append(r.Membership.Members, m)
		}
	}
	return r
}

// follows has the node accept a record from node 2 in slot 1, and learn that it is chosen. The persist of the
// acceptance is durable, later persists are not yet.
func (b *bench) follows(r members.Record) {
	b.t.Helper()
	by := ballot.Ballot{Counter: 5, Restart: 1, Node: 2}
	b.give(Event{Up: 2})
	b.give(Event{Up: 3})
	b.give(Event{Log: &multipaxos.Message{Kind: multipaxos.KindAccept, From: 2, To: 1, Ballot: by,
		Entries: []multipaxos.Entry{{Slot: 1, Ballot: by, Value: membersValue(&r)}}}})
	b.run(sec, Published{})
	b.sync()
	b.run(sec, Published{})
	b.given, b.dismissed = nil, 0
	b.give(Event{Log: &multipaxos.Message{Kind: multipaxos.KindMark, From: 2, To: 1, Ballot: by, Through: 1, Chosen: 1}})
	b.again()
	if b.log.Position().Applied != 1 {
		b.t.Fatalf("applied %d", b.log.Position().Applied)
	}
}

// holds has a node say that membership 2 is in force there.
func (b *bench) holds(node ballot.NodeID) {
	b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: node, Heartbeat: Heartbeat{Applied: 1, Membership: 2}}})
}

// A removed node stays as it was, and tries for no lease, until a majority of the voters without it has the new
// membership durable.
func TestARemovedNodeStaysUntilTheOthersGoOnWithoutIt(t *testing.T) {
	b := newBench(t, 1, 2, 3, 4)
	b.follows(b.without(1))
	b.settle(2*sec, Published{})
	b.holds(2)
	b.settle(3*sec, Published{})
	if b.given != nil {
		t.Fatal("it leaves while one of three has the membership")
	}
	if !b.log.Standing(3 * sec).Barred {
		t.Fatal("it may try for the lease")
	}
	b.holds(3)
	b.settle(4*sec, Published{})
	if b.given == nil || b.given.Number != 2 {
		t.Fatalf("it is given %v when two of three have the membership", b.given)
	}
}

// Who restarts before the others go on without it stays too.
func TestARemovedNodeStaysAfterARestart(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	first := b.log.cfg.Membership
	b.follows(b.without(1))
	b.settle(2*sec, Published{})
	b.freeze(3*sec, Published{})
	b.save()
	b.settle(4*sec, Published{})
	core, err := multipaxos.New(b.log.cfg.Core, multipaxos.Membership{Number: 2, Slot: 1, Voters: b.log.members.voters},
		b.disk.durable, b.disk)
	if err != nil {
		t.Fatal(err)
	}
	cfg := b.log.cfg
	cfg.Membership = first
	if b.log, err = NewLog(cfg, core, b.state); err != nil {
		t.Fatal(err)
	}
	b.round = NewLogRound(b.log)
	b.settle(5*sec, Published{})
	if b.given != nil || !b.log.Standing(5*sec).Barred {
		t.Fatalf("after a restart it is given %v, or may try for the lease", b.given)
	}
	b.give(Event{Up: 2})
	b.give(Event{Up: 3})
	b.holds(2)
	b.holds(3)
	if b.settle(6*sec, Published{}); b.given == nil {
		t.Fatal("it does not leave")
	}
}

// A lease that a removed node wins by an attempt from before it let go of at once.
func TestARemovedNodeLetsTheLeaseGo(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	b.follows(b.without(1))
	b.tick(2*sec, tenure(7, 90*sec))
	b.tick(2*sec, tenure(7, 90*sec))
	if b.log.letGo != (elector.LetGo{Tenure: 7, Reason: elector.ReasonNoVoter}) || b.log.core.Phase() != multipaxos.Following {
		t.Fatalf("lets go of %+v, %v", b.log.letGo, b.log.core.Phase())
	}
}

// Those who stay tell a removed node so when a majority of them has the membership durable, and not before.
func TestARemovedNodeIsToldWhenAMajorityHasTheMembership(t *testing.T) {
	b := newBench(t, 1, 2, 3, 4)
	b.follows(b.without(4))
	b.settle(2*sec, Published{})
	if b.given == nil {
		t.Fatal("a node that stays does not go over to the membership")
	}
	b.give(Event{InForce: &MembersInForce{Number: 2}})
	b.settle(2*sec, Published{})
	b.holds(4) // it is none of them
	b.settle(3*sec, Published{})
	if b.dismissed != 0 {
		t.Fatalf("membership %d is called held while one of three has it", b.dismissed)
	}
	b.holds(3)
	if b.settle(4*sec, Published{}); b.dismissed != 2 {
		t.Fatalf("membership %d is called held, and two of three have 2", b.dismissed)
	}
}

// A membership goes into the identity, and is acknowledged, only when a restart would know that its entry is chosen.
// Otherwise a majority that has acknowledged it could need those who were removed after all.
func TestAMembershipInForceIsKnownToBeChosen(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	b.follows(b.without(3))
	b.again()
	if b.log.core.SyncedThrough() != 1 || b.disk.durable.Chosen != 0 {
		t.Fatalf("synced through %d, chosen mark on disk %d", b.log.core.SyncedThrough(), b.disk.durable.Chosen)
	}
	if b.given != nil {
		t.Fatal("handed out while the disk does not know that the entry is chosen")
	}
	b.sync()
	b.again()
	if b.given == nil || b.disk.durable.Chosen != 1 {
		t.Fatalf("given %v, chosen mark on disk %d", b.given, b.disk.durable.Chosen)
	}
}

// A snapshot may have brought the membership before its entry: the entry is durable, and known to be chosen, before the
// membership is acknowledged.
func TestAMembershipOfASnapshotIsAcknowledgedWithItsEntry(t *testing.T) {
	b := newBench(t, 1, 2, 3)
	r := b.without(3)
	b.log.members.follow(r.Membership, r.NextNode) // as of the identity
	b.give(Event{InForce: &MembersInForce{Number: 2}})
	b.follows(r)
	if got := b.log.heartbeat(2 * sec).Membership; got != 1 {
		t.Fatalf("acknowledges %d, and its disk does not know that the entry is chosen", got)
	}
	b.sync()
	b.again()
	if got := b.log.heartbeat(2 * sec).Membership; got != 2 {
		t.Fatalf("acknowledges %d", got)
	}
}

// Of the voters 1 and 2 one is removed. It knows that at once; the other one restarts before its disk does.
func TestTheLastVoterLearnsOfARemovalFromWhoIsRemoved(t *testing.T) {
	for seed := range uint64(20) {
		c := newClusterWith(t, 2, 900+seed, keepsAll)
		m := c.awaitMaster()
		gone := c.nodes[m.id%2]
		c.lastID++
		m.input(Event{Members: &MembersRequest{ID: 1<<40 + c.lastID, Until: c.now + 5*time.Second,
			Request: members.Request{Op: members.Operation{ID: "op", Kind: members.Remove, Node: gone.id}}}})
		c.until("the removal is applied", 5*time.Second, func() bool { return m.log.members.newest.Number == 2 })
		m.frozen = true
		if m.disk.durable.Chosen >= m.log.Position().Applied {
			t.Fatalf("seed %d: the chosen mark is durable already", seed)
		}
		c.until("the removal is known to who is removed", 5*time.Second, func() bool { return gone.log.members.removed() })
		c.run(testLease / 2)
		c.crash(m)
		if gone.removed { // its process has ended
			c.crash(gone)
		}
		m.frozen = false
		c.run(testLease)
		c.start(m)
		c.operationDone("op")
		c.writes("after")
		c.until("the end of who is removed", 5*time.Second, func() bool { return gone.removed })
	}
}
