package replica

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/lease"
	"tenure/multipaxos"
	"tenure/server/members"
)

// C(1) = {1,2,3,4,5}, C(2) = {1,3,4,5}, seen from node 1.
func TestSettling(t *testing.T) {
	r := members.Record{Membership: ident.Membership{Number: 2, Members: voters(1, 3, 4, 5)}, Settled: 1,
		Before: voters(1, 2, 3, 4, 5)}
	timing := lease.Timing{MaxMaster: sec, MaxUser: 10 * sec, DriftPPM: 10_000, Margin: 10 * time.Millisecond}
	longest, err := timing.Quarantine()
	if err != nil {
		t.Fatal(err)
	}
	type ack struct {
		node      ballot.NodeID
		number    uint64
		at        time.Duration
		excluding time.Duration
	}
	const now = 100 * sec
	for _, c := range []struct {
		name    string
		own     uint64 // in force here
		acks    []ack
		enough  bool
		settles time.Duration // from when it was enough
	}{
		{"nobody", 1, nil, false, 0},
		{"two of five", 2, []ack{{3, 2, now, 0}}, false, 0},
		{"three of five before, two of four of the new", 2, []ack{{2, 2, now, 0}, {3, 2, now, 0}}, false, 0},
		{"of an older number", 2, []ack{{3, 1, now, 0}, {4, 1, now, 0}}, false, 0},
		{"three of both", 2, []ack{{3, 2, now, 0}, {4, 2, now, 0}}, true, longest},
		{"of a newer number", 2, []ack{{3, 3, now, 0}, {4, 3, now, 0}}, true, longest},
		{"without the own one", 1, []ack{{3, 2, now, 0}, {4, 2, now, 0}, {5, 2, now, 0}}, true, longest},
		{"a long lease of a user", 2, []ack{{3, 2, now, 5 * sec}, {4, 2, now, 0}}, true, 5*sec*101/99 + 20*time.Millisecond},
		{"a long silence of a node that did not vote", 2, []ack{{3, 2, now, 0}, {4, 2, now, 0}, {6, 2, now, 9 * sec}}, true,
			longest},
		{"told a while ago", 2, []ack{{3, 2, now - 4*sec, 5 * sec}, {4, 2, now, 0}}, true,
			5*sec*101/99 - 4*sec + 20*time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settling{timing: timing}
			own := inForceHere{number: c.own, applied: 2, slot: 9}
			var peers []peerView
			for _, a := range c.acks {
				peers = append(peers, peerView{node: a.node, inForce: a.number, heard: a.at, excluding: a.excluding})
			}
			step := func(at time.Duration) bool {
				done, why := s.step(at, &r, peers, 1, &own, 9)
				if done == (why != "") {
					t.Fatalf("done %v, and waits for %q", done, why)
				}
				return done
			}
			if step(now) || s.enough != c.enough {
				t.Fatalf("done at once, or enough is %v", s.enough)
			}
			if !c.enough {
				if step(now + time.Hour) {
					t.Fatal("settled without enough acknowledgements")
				}
				return
			}
			until := now + max(c.settles, longest)
			if step(until - 50*time.Millisecond) {
				t.Fatal("settled too early")
			}
			if !step(until + 50*time.Millisecond) {
				t.Fatalf("not settled, %v left", s.left(until))
			}
		})
	}
}

// A new master begins anew.
func TestSettlingBeginsAnewWithTheMaster(t *testing.T) {
	c := newClusterWith(t, 3, 33, keepsAll)
	old := c.awaitMaster()
	c.change(members.Operation{ID: "op", Kind: members.Remove, Node: old.id%3 + 1})
	c.until("enough acknowledgements", 5*time.Second, func() bool { return old.log.settling.enough })
	c.run(testLease / 2)
	c.crash(old)
	c.run(4 * testLease)
	c.start(old)
	c.awaitMaster()
	begun := c.now
	c.operationDone("op")
	least, err := testTiming.Quarantine()
	c.must(err)
	if took := c.now - begun; took < least-20*time.Millisecond {
		t.Fatalf("settled %v after the new master was ready", took)
	}
}

// What this node acknowledges is durable here with all below it.
func TestAcknowledgedIsDurable(t *testing.T) {
	for _, c := range []struct {
		own    inForceHere
		synced uint64
		want   uint64
	}{
		{inForceHere{}, 9, 1},
		{inForceHere{number: 3, applied: 3, slot: 9}, 8, 1},
		{inForceHere{number: 3, applied: 3, slot: 9}, 9, 3},
		{inForceHere{number: 3, applied: 2, slot: 9}, 9, 1}, // the identity is ahead of the state after a crash
		{inForceHere{number: 2, applied: 3, slot: 9}, 9, 2},
	} {
		if got, _ := c.own.told(0, multipaxos.Slot(c.synced)); got != c.want {
			t.Errorf("%+v, synced through %d: told %d, want %d", c.own, c.synced, got, c.want)
		}
	}
}

// With whatever reading a heartbeat is made, it never tells of a longer exclusion than was reported.
func TestExclusionOnlyFalls(t *testing.T) {
	own := inForceHere{}
	own.apply(2, 0, true)
	own.put(10*sec, MembersInForce{Number: 2, Excluding: 3 * sec})
	for at, want := range map[time.Duration]time.Duration{0: 3 * sec, 10 * sec: 3 * sec, 12 * sec: sec, 20 * sec: 0} {
		if _, got := own.told(at, 0); got != want {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
}

// voters are members with these ids.
func voters(ids ...ballot.NodeID) (ms []ident.Member) {
	for _, id := range ids {
		ms = append(ms, ident.Member{Node: id})
	}
	return ms
}

// A restarted voter acknowledges a membership only when it knows its exclusion again.
func TestAnAcknowledgementComesWithItsExclusion(t *testing.T) {
	m := ident.Membership{Number: 2, Members: voters(1, 2, 3, 4)}
	r := members.Record{Membership: m, Settled: 1, Before: voters(1, 2, 3)}
	const now = 100 * sec
	follower := newMembers(3, m)
	for _, id := range []ballot.NodeID{1, 2, 4} {
		follower.connected(id, true)
		follower.hear(now, id, Heartbeat{Membership: 2, Excluding: 30 * sec})
	}
	restarted := inForceHere{}
	restarted.put(now, MembersInForce{Number: 2, Excluding: 30 * sec}) // and has not applied the record yet
	number, excluding := restarted.told(now, 100)
	follower.hear(now, 1, Heartbeat{Membership: number, Excluding: excluding})
	follower.hear(now, 2, Heartbeat{Membership: number, Excluding: excluding})
	s := settling{timing: lease.Timing{MaxMaster: sec, MaxUser: 30 * sec, Margin: 10 * time.Millisecond}}
	own := inForceHere{number: 2, applied: 2}
	s.step(now, &r, follower.peers, 3, &own, 100) // node 3 is the master now
	if s.enough && s.left(now) < 30*sec {
		t.Errorf("settles %v after acknowledgements of nodes that exclude others for 30 s", s.left(now))
	}
}
