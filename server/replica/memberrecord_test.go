package replica

import (
	"fmt"
	"math"
	"testing"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/members"
)

// BaseMembership tells which members decide the first slot that the state lacks. After a crash that follows a change,
// the identity knows more than the state, and must not mislead the node.
func TestBaseMembership(t *testing.T) {
	bootstrap := testMembers(quorum.Of(1, 2, 3))
	first := members.First(bootstrap)
	facts := members.Facts{Self: 1, Era: 1}
	for _, id := range []ballot.NodeID{2, 3} {
		facts.Nodes = append(facts.Nodes, members.Node{ID: id, Alive: true, CaughtUp: true, Agrees: true, InForce: math.MaxUint64})
	}
	begun, _, err := first.Begin(members.Operation{ID: "op", Kind: members.Remove, Node: 3}, facts)
	if err != nil {
		t.Fatal(err)
	}
	removed := members.Next(begun, facts).Record
	newest := removed.Membership
	entry := func(s multipaxos.Slot, r *members.Record) multipaxos.Entry {
		return multipaxos.Entry{Slot: s, Ballot: ballot.Ballot{Counter: 1}, Value: membersValue(r)}
	}
	for _, c := range []struct {
		name     string
		state    *members.Record // at slot 1
		identity ident.Membership
		log      []multipaxos.Entry
		want     string
	}{
		{"never changed", nil, bootstrap, nil, "1 at 0: {1,2,3} and []"},
		{"never changed, and a change in the log", nil, bootstrap, []multipaxos.Entry{entry(4, &begun)}, "1 at 0: {1,2,3} and []"},
		{"begun", nil, newest, []multipaxos.Entry{{Slot: 3}, entry(4, &begun), entry(6, &removed)}, "1 at 0: {1,2,3} and []"},
		{"the change alone", nil, newest, []multipaxos.Entry{entry(6, &removed)}, "1 at 0: {1,2,3} and []"},
		{"joined", nil, newest, nil, "0 at 0: {} and [1 2]"},
		{"in the state", &removed, newest, nil, "2 at 1: {1,2} and []"},
		{"an older state", &begun, newest, []multipaxos.Entry{entry(6, &removed)}, "1 at 1: {1,2,3} and []"},
	} {
		t.Run(c.name, func(t *testing.T) {
			state, err := kv.Open(kv.NewMemStateDB(), kv.DefaultLimits)
			if err != nil {
				t.Fatal(err)
			}
			if c.state != nil {
				if err := state.SetMembers(1, c.state.Encode(), 0); err != nil {
					t.Fatal(err)
				}
			}
			disk := newDisk()
			for _, e := range c.log {
				disk.commit(multipaxos.Persist{Entries: []multipaxos.Entry{e}})
			}
			m, err := BaseMembership(state, c.identity, disk.durable, disk)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%d at %d: %v and %v", m.Number, m.Slot, m.Voters, m.NonVoters); got != c.want {
				t.Fatalf("%s, want %s", got, c.want)
			}
		})
	}
}

// A membership is not handed out while a restart would not find the log through its entry, and know that it is chosen.
func TestTheIdentityNeverOvertakesTheLog(t *testing.T) {
	b := newBench(t, 1, 2)
	b.lead(tenure(1, 90*sec))
	b.log.core.Probe()
	b.settle(0, b.pub)
	if b.log.core.MarkedThrough() != b.log.core.SyncedThrough() {
		t.Fatal("the chosen mark is not durable")
	}
	b.log.inForce.announce, b.log.inForce.slot = true, b.log.core.MarkedThrough()+1
	b.again()
	if b.given != nil {
		t.Fatal("handed out too early")
	}
	b.log.inForce.slot--
	b.again()
	if b.given == nil {
		t.Fatal("not handed out")
	}
}

// A node that is no voter does not lead, even if it held the lease.
func TestANonVoterDoesNotLead(t *testing.T) {
	cfg := testConfig(ballot.Incarnation{Node: 1, Restart: 1, Nonce: 9}, quorum.Of(2, 3))
	cfg.Membership.NonVoters = []ident.Member{{Node: 1, Store: ident.StoreID{1}}}
	b := newBenchWith(t, cfg)
	b.run(0, tenure(1, 90*sec))
	if b.log.core.Phase() != multipaxos.Following {
		t.Fatalf("it is %v", b.log.core.Phase())
	}
}

func TestWhoIsCaughtUp(t *testing.T) {
	b := newBench(t, 1, 2)
	p := b.lead(tenure(1, 90*sec))
	caughtUp := func(applied uint64) bool {
		b.give(Event{Up: 2})
		b.give(Event{Peer: &Message{Kind: KindHeartbeat, From: 2, Heartbeat: Heartbeat{Applied: applied, Membership: 1}}})
		b.run(b.now+TickEvery, p)
		return b.log.facts(b.now).Nodes[0].CaughtUp
	}
	for range 3 * markTicks {
		b.tick(b.now+TickEvery, p)
	}
	if applied := b.log.state.Applied(); caughtUp(applied-1) || !caughtUp(applied) {
		t.Fatal("a node is caught up when it has applied what the master had a moment ago")
	}
	if b.run(b.now+2*AliveFor, p); b.log.facts(b.now).Nodes[0].Alive {
		t.Fatal("a node that is not heard is alive")
	}
}
