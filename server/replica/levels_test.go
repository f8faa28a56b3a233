package replica

import (
	"fmt"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/kv"
	"tenure/server/members"
)

// releases is a cluster whose nodes know feature levels as known says, which a restart reads anew.
type releases struct {
	*cluster
	known map[ballot.NodeID]uint64
}

// newReleases returns a cluster of three of the release before. after is LevelConfig.After.
func newReleases(t *testing.T, seed uint64, after time.Duration) *releases {
	known := map[ballot.NodeID]uint64{}
	c := newClusterWith(t, 3, seed, func(cfg *Config) {
		keepsAll(cfg)
		cfg.Level = LevelConfig{Newest: known[cfg.Self.Node], Release: "v1", After: after}
	})
	return &releases{cluster: c, known: known}
}

// upgrade restarts a node with a release that knows a level.
func (r *releases) upgrade(id ballot.NodeID, level uint64) {
	r.t.Helper()
	r.known[id] = level
	r.crash(r.nodes[id-1])
	r.run(50 * time.Millisecond)
	r.start(r.nodes[id-1])
	r.awaitMaster()
}

// used has a mastership that is not the first, and something written: the cluster is not new any more.
func (r *releases) used() {
	r.t.Helper()
	r.writes("old")
	r.crash(r.awaitMaster())
	r.run(2 * testLease)
	r.awaitMaster()
	for _, n := range r.nodes {
		if !n.up {
			r.start(n)
		}
	}
	r.writes("and more")
}

// upgraded has all nodes know level 1, and returns the master.
func (r *releases) upgraded() *testNode {
	r.t.Helper()
	r.used()
	for id := range ballot.NodeID(3) {
		r.upgrade(id+1, 1)
	}
	r.run(time.Second)
	return r.awaitMaster()
}

// finish asks a node to raise the level.
func (r *releases) finish(n *testNode) Reply {
	r.t.Helper()
	r.lastID++
	n.input(Event{Level: &LevelRequest{ID: 1<<41 + r.lastID}})
	return r.await(n, 1<<41+r.lastID, time.Second)
}

// levels returns what each node has applied.
func (r *releases) levels() string {
	var s []uint64
	for _, n := range r.nodes {
		s = append(s, n.state.Level())
	}
	return fmt.Sprint(s)
}

func (r *releases) want(levels string) {
	r.t.Helper()
	if got := r.levels(); got != levels {
		r.t.Fatalf("levels %s, want %s", got, levels)
	}
}

func TestTheLevelIsRaisedOnceAllMembersKnowIt(t *testing.T) {
	r := newReleases(t, 41, 0)
	r.used()
	r.upgrade(1, 1)
	r.upgrade(2, 1)
	r.run(300 * time.Millisecond)
	if a := r.finish(r.awaitMaster()); a.Outcome != Refused || fmt.Sprint(a.Level.Older) != "[3]" {
		t.Fatalf("with node 3 older: %+v, %+v", a, a.Level)
	}
	r.crash(r.nodes[2])
	r.run(2 * testLease)
	if a := r.finish(r.awaitMaster()); a.Outcome != Refused || fmt.Sprint(a.Level.Unheard) != "[3]" {
		t.Fatalf("with node 3 silent: %+v, %+v", a, a.Level)
	}
	r.start(r.nodes[2])
	r.upgrade(3, 1)
	r.run(time.Second)
	r.want("[0 0 0]") // 0: never by itself
	if a := r.finish(r.awaitMaster()); a.Outcome != Done {
		t.Fatalf("with all of the new release: %+v, %+v", a, a.Level)
	}
	r.until("the level to be raised", time.Second, func() bool { return r.levels() == "[1 1 1]" })
	if a := r.finish(r.awaitMaster()); a.Outcome != Done {
		t.Fatalf("a second time: %+v", a)
	}
}

func TestTheLevelIsRaisedByItselfAfterAWhile(t *testing.T) {
	const after = 3 * time.Second
	r := newReleases(t, 42, after)
	r.used()
	for id := range ballot.NodeID(3) {
		r.upgrade(id+1, 1)
	}
	r.run(after - time.Second)
	r.want("[0 0 0]")
	if left := r.awaitMaster().log.Status(r.now).Level; !left.Raises || left.RaisesIn <= 0 || left.RaisesIn > after {
		t.Errorf("it says %+v", left)
	}
	r.crash(r.awaitMaster()) // another master counts from when it learned of it, not from when it became master
	for _, n := range r.nodes {
		if !n.up {
			r.run(2 * testLease)
			r.start(n)
		}
	}
	heartbeat := heartbeatTicks * TickEvery
	r.until("the level to be raised", after+heartbeat, func() bool { return r.levels() == "[1 1 1]" })
}

// A node that goes back to the release before, while the level is not raised, starts the time anew.
func TestTheWayBackPutsTheRaiseOff(t *testing.T) {
	const after = 3 * time.Second
	r := newReleases(t, 43, after)
	r.used()
	for id := range ballot.NodeID(3) {
		r.upgrade(id+1, 1)
	}
	r.run(after / 2)
	r.upgrade(2, 0)
	r.run(2 * after)
	r.want("[0 0 0]")
	r.upgrade(2, 1)
	r.run(after / 2)
	r.want("[0 0 0]")
	r.until("the level to be raised", after, func() bool { return r.levels() == "[1 1 1]" })
}

func TestANewClusterBeginsAtTheNewestLevel(t *testing.T) {
	known := map[ballot.NodeID]uint64{1: 1, 2: 1, 3: 1}
	r := &releases{known: known, cluster: newClusterWith(t, 3, 44, func(cfg *Config) {
		cfg.Level = LevelConfig{Newest: known[cfg.Self.Node], Release: "v1"}
	})}
	r.awaitMaster()
	r.until("the level to be raised", time.Second, func() bool { return r.levels() == "[1 1 1]" })
	for _, n := range r.nodes { // a release that does not know the level finds that in the state database
		r.until("a checkpoint with the level", 2*time.Second, func() bool {
			slot, meta, err := n.disk.stateDB.Loaded()
			m, bad := kv.ReadMeta(slot, meta)
			return err == nil && bad == nil && m.Level == 1
		})
	}
}

// A member that does not vote counts: it applies the same commands.
func TestANonVoterHoldsTheLevelBack(t *testing.T) {
	r := newReleases(t, 45, time.Second)
	r.used()
	for id := range ballot.NodeID(3) {
		r.upgrade(id+1, 1)
	}
	r.add("spare", members.Operation{Kind: members.Add, Spare: true, Member: comer(4)})
	r.run(3 * time.Second)
	r.want("[0 0 0 0]")
	if a := r.finish(r.awaitMaster()); a.Outcome != Refused || fmt.Sprint(a.Level.Older) != "[4]" {
		t.Fatalf("with an older spare: %+v, %+v", a, a.Level)
	}
	r.upgrade(4, 1)
	r.until("the level to be raised", 3*time.Second, func() bool { return r.levels() == "[1 1 1 1]" })
}

// What a member said over an earlier connection does not count: it may run another release by now.
func TestAMemberMustHaveSaidItOverTheConnectionThatStands(t *testing.T) {
	m := newMembers(1, testMembers(quorum.Of(1, 2, 3)))
	v := levels{cfg: LevelConfig{Newest: 1}}
	for _, id := range []ballot.NodeID{2, 3} {
		m.connected(id, true)
		m.hear(sec, id, Heartbeat{Level: 1})
	}
	if v.follow(sec, &m); v.common != 1 {
		t.Fatalf("all know level %d", v.common)
	}
	m.connected(3, false)
	m.connected(3, true)
	if older, unheard := v.blocking(sec, 0, &m); older != nil || fmt.Sprint(unheard) != "[3]" {
		t.Errorf("after a new connection: older %v, unheard %v", older, unheard)
	}
	m.hear(sec, 3, Heartbeat{})
	if older, unheard := v.blocking(sec, 0, &m); fmt.Sprint(older) != "[3]" || unheard != nil {
		t.Errorf("after a heartbeat of the release before: older %v, unheard %v", older, unheard)
	}
}

// From when the command is asked for, before anybody has it, nodes that do not know the level are out. With the end of
// the mastership they are let in again, unless the command was applied.
func TestOlderNodesAreOutWhileTheLevelIsRaised(t *testing.T) {
	r := newReleases(t, 46, 0)
	m := r.upgraded()
	if m.requires != 0 {
		t.Fatalf("level %d is required before", m.requires)
	}
	if a := r.finish(m); a.Outcome != Done || m.state.Level() != 0 {
		t.Fatalf("%+v, %+v, level %d is applied", a, a.Level, m.state.Level())
	}
	if m.requires != 1 {
		t.Errorf("level %d is required while the level is raised", m.requires)
	}
	m.log.closeEpoch()
	if level := (&LogRound{log: m.log}).drainOutput().Level; level != 0 {
		t.Errorf("level %d is required after the mastership", level)
	}
	r.crash(m)
	r.run(2 * testLease)
	if a := r.finish(r.awaitMaster()); a.Outcome != Done {
		t.Fatalf("%+v, %+v", a, a.Level)
	}
}

// A member that is added while the level is raised is listed after that, and so not let in if it is older.
func TestNoMemberIsAddedWhileTheLevelIsRaised(t *testing.T) {
	r := newReleases(t, 47, 0)
	m := r.upgraded()
	const ask, add = 1<<41 - 1, 1<<41 - 2
	m.input(Event{Level: &LevelRequest{ID: ask}})
	m.input(Event{Members: &MembersRequest{ID: add, Until: r.now + time.Second,
		Request: members.Request{Op: members.Operation{ID: "late", Kind: members.Add, NonVoter: true, Member: comer(4)}}}})
	r.until("the new member", 2*time.Second, func() bool {
		_, listed := m.log.changes.record.WithStore(comer(4).Store)
		if listed && m.state.Level() == 0 {
			t.Fatal("it is listed before the level is raised")
		}
		return listed
	})
	if a := m.replies[add]; a.Outcome != Done {
		t.Errorf("%+v", a)
	}
}

// A request to raise the level waits for a change of the members that is in flight, and then for the new member.
func TestTheLevelIsNotRaisedWhileAMemberIsAdded(t *testing.T) {
	r := newReleases(t, 48, 0)
	m := r.upgraded()
	m.input(Event{Members: &MembersRequest{ID: 1<<41 - 2, Until: r.now + time.Second,
		Request: members.Request{Op: members.Operation{ID: "early", Kind: members.Add, NonVoter: true, Member: comer(4)}}}})
	r.until("the change to be in flight", time.Second, func() bool { return m.log.changes.proposed != nil })
	if a := r.finish(m); a.Outcome != Refused || a.Reason != NoMaster || a.Level.Master != m.id {
		t.Fatalf("while it is in flight: %+v, %+v", a, a.Level)
	}
	r.until("the new member", time.Second, func() bool {
		_, listed := m.log.changes.record.WithStore(comer(4).Store)
		return listed
	})
	if a := r.finish(m); a.Outcome != Refused || fmt.Sprint(a.Level.Unheard) != "[4]" {
		t.Errorf("with a member that nobody has heard: %+v, %+v", a, a.Level)
	}
}
