package sim

import (
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// masters knows what all nodes have published of the master lease and of epochs, and what clients were told was
// written. It checks that there is one owner of the lease, and that epochs and masters follow each other as they must.
type masters struct {
	*engine
	boards    []*board
	members   *memberHistory
	acked     uint64                                 // highest revision of an acknowledged write
	epochs    map[uint64]*machine                    // whose the epochs are that became ready; never ranged over
	top       uint64                                 // the newest of them
	confirmed [maxMachines][maxMachines]confirmation // by leader and voter
}

// confirmation is a voter's newest word that it promised nothing above a leader's ballot.
type confirmation struct {
	counter uint64 // of the leader's ballot
	run     uint64 // of the leader
	at      time.Duration
}

// board is what the loops and readers of a node's process share.
type board struct {
	*machine
	masters *masters
	shown
}

// shown is what one run of the process has put on the board.
type shown struct {
	pub   replica.Published
	state *kv.State
	epoch uint64        // newest epoch in which this process was seen ready
	ended time.Duration // on the node's clock: when a tenure last ended
}

// publish replaces the published state and checks it. There is one owner of the lease, by each node's own clock. A
// ready master's epoch is new, and it has recovered.
func (b *board) publish(p replica.Published) {
	old, now := b.pub, b.reading()
	b.pub = p
	if old.Tenure != 0 && old.Tenure != p.Tenure {
		b.ended = min(now, old.Deadline)
	}
	if !p.Held(now) {
		return
	}
	if b.plan.clocked() && (p.Tenure != old.Tenure || p.Deadline != old.Deadline) {
		b.masters.mustBeAlone(b)
	}
	b.masters.checkReady(b)
}

// held reports whether the node holds the lease by its own clock.
func (b *board) held() bool { return b.pub.Held(b.reading()) }

// mustBeAlone checks that nobody else holds the lease.
func (x *masters) mustBeAlone(b *board) {
	for _, o := range x.boards {
		if o != b && o.up() && o.held() {
			x.fail("one owner", "node %d holds the lease until %v on its clock, now %v, and node %d until %v, now %v",
				b.id, b.pub.Deadline, b.reading(), o.id, o.pub.Deadline, o.reading())
		}
	}
}

// checkReady checks a node whose readers would serve now.
func (x *masters) checkReady(b *board) {
	if _, ok := b.pub.Begin(); !ok {
		return
	}
	if epoch := b.pub.Epoch; b.epoch != epoch {
		b.epoch = epoch
		x.counts.Masters++
		x.trace.mix(epoch, uint64(b.id))
		if o := x.epochs[epoch]; o != nil {
			x.fail("epochs are unique", "node %d opens epoch %d, which was node %d's", b.id, epoch, o.id)
		}
		x.epochs[epoch] = b.machine
		if epoch <= x.top && x.plan.clocked() {
			x.fail("epochs grow", "node %d opens epoch %d after epoch %d", b.id, epoch, x.top)
		}
		x.top = max(x.top, epoch)
	}
	if r := b.state.Revision(); r < x.acked && x.plan.clocked() {
		x.fail("ready implies recovered", "node %d is ready at revision %d, and revision %d was acknowledged", b.id, r,
			x.acked)
	}
}

// acknowledge notes that somebody is told of a write.
func (x *masters) acknowledge(revision uint64) { x.acked = max(x.acked, revision) }

// confirm notes that a voter has promised nothing above a leader's ballot.
func (x *masters) confirm(leader, voter ballot.NodeID, b ballot.Ballot) {
	l, v := x.members.machine(leader), x.members.machine(voter)
	c := confirmation{counter: b.Counter, at: x.now}
	if l.up() && b.Node == l.id {
		c.run = l.run
	}
	if was := x.confirmed[l.i][v.i]; was.run == c.run && was.counter > c.counter {
		return // an old question has come late: that the voter has answered a newer one is as true
	}
	x.confirmed[l.i][v.i] = c
}

// mustBeConfirmed checks that a quorum, leader among it, said after since that it promised nothing above the leader's
// ballot b. The leader knows what is chosen through a slot. The words may have come before the newest membership was
// chosen: then those decide whose membership decided its slot.
func (x *masters) mustBeConfirmed(leader *machine, b ballot.Ballot, chosen multipaxos.Slot, since time.Duration) {
	votes := machineSet(1) << leader.i
	for i, c := range x.confirmed[leader.i] {
		if c.counter == b.Counter && c.run == leader.run && c.at >= since {
			votes |= 1 << i
		}
	}
	m := x.members.governing(chosen + 1)
	if !votes.majorityOf(x.members.set(m.Members)) && !(m.at > since && votes.majorityOf(x.members.voters(m.slot))) {
		x.fail("consistent reads are confirmed",
			"node %d grants a read that arrived at %v with the words of machines %b under %v",
			leader.id, since-startTime, votes, b)
	}
}
