package sim

import (
	"time"

	"tenure/internal/quorum"
	"tenure/server/replica"
)

// epoch is a mastership: whose barrier entry is in this slot.
type epoch struct {
	node   *node
	run    uint64
	tenure uint64
}

// publish replaces what n's loops and readers share, and checks what may be believed of it: one owner of the lease,
// by each node's own clock; and of a master that is ready, that its epoch is new and that it has recovered.
func (n *node) publish(p replica.Published) {
	old, now := n.pub, n.reading()
	n.pub = p
	if old.Tenure != 0 && old.Tenure != p.Tenure {
		n.endedAt = min(now, old.Deadline)
	}
	if !p.Held(now) {
		return
	}
	w := n.w
	if !w.plan.clocked() {
		n.checkReady()
		return
	}
	if p.Tenure != old.Tenure || p.Deadline != old.Deadline {
		for _, o := range w.nodes {
			if o != n && o.up() && o.pub.Held(o.reading()) {
				w.fail("one owner", "node %d holds the lease until %v on its clock, now %v, and node %d until %v, now %v",
					n.id, p.Deadline, now, o.id, o.pub.Deadline, o.reading())
			}
		}
	}
	n.checkReady()
}

// checkReady looks at a node whose readers would serve now.
func (n *node) checkReady() {
	w, p := n.w, n.pub
	if _, ok := p.Begin(); !ok {
		return
	}
	if n.shown != p.Epoch {
		n.shown = p.Epoch
		w.counts.Masters++
		w.trace.mix(p.Epoch, uint64(n.id))
		if e, ok := w.epochs[p.Epoch]; ok {
			w.fail("epochs are unique", "node %d opens epoch %d, which was node %d's", n.id, p.Epoch, e.node.id)
		}
		w.epochs[p.Epoch] = epoch{node: n, run: n.run, tenure: p.Tenure}
		if p.Epoch <= w.topEpoch && w.plan.clocked() {
			w.fail("epochs grow", "node %d opens epoch %d after epoch %d", n.id, p.Epoch, w.topEpoch)
		}
		w.topEpoch = max(w.topEpoch, p.Epoch)
	}
	if r := n.state.Revision(); r < w.acked && w.plan.clocked() {
		w.fail("ready implies recovered", "node %d is ready at revision %d, and revision %d was acknowledged", n.id, r, w.acked)
	}
}

// confirmation is a voter's newest word that it promised nothing above a leader's ballot.
type confirmation struct {
	counter uint64 // of the leader's ballot
	run     uint64 // of the leader
	at      time.Duration
}

// checkAnswer looks at an answer as it leaves for its handler.
func (n *node) checkAnswer(a *attempt, r *replica.Reply) {
	if r.Outcome != replica.Done || !a.isWrite() && !r.Ticketed || !n.round.Acknowledges() {
		return // or the master has answered, and another node passes it on
	}
	n.mustHold()
	if a.isWrite() {
		n.mustHaveHeld(n.appliedAt, "a write")
	}
	if r.Ticketed && a.mode == consistent {
		n.mustBeConfirmed(a.parked)
	}
}

// checkTold looks at a message to another log part as it leaves: an answer to a forwarded write, or a point to read
// from.
func (n *node) checkTold(m *replica.Message) {
	for _, a := range m.Answers {
		if a.Outcome == replica.Done {
			n.mustHold()
			n.mustHaveHeld(n.appliedAt, "a forwarded write")
		}
	}
	if m.Kind != replica.KindReadPointR || !m.Read.Granted {
		return
	}
	k := askKey{m.To, m.Read.ID}
	q := n.asked[k]
	delete(n.asked, k)
	n.mustHold()
	n.mustHaveHeld(q.reading, "a question for a read point")
	if m.Read.Consistent {
		n.mustBeConfirmed(q.at)
	}
}

// mustHold: writes are acknowledged, and points to read from given, only if the lease was held, and the log ready, by
// the last reading of the clock.
func (n *node) mustHold() {
	if !n.seen.Held(n.now) || n.seen.Ready != n.seen.Tenure {
		n.w.fail("answers under the lease", "node %d acknowledges at %v: tenure %d until %v, ready for %d", n.id, n.now,
			n.seen.Tenure, n.seen.Deadline, n.seen.Ready)
	}
}

// mustHaveHeld: whatever the driver has read, the lease was held for a moment after what is answered was applied, or
// asked.
func (n *node) mustHaveHeld(since time.Duration, what string) {
	if p := n.pub; (p.Tenure == 0 || since >= p.Deadline) && since > n.endedAt {
		n.w.fail("answers under the lease", "node %d answers %s of %v, and has not held the lease since: tenure %d until %v, the one before ended at %v",
			n.id, what, since, p.Tenure, p.Deadline, n.endedAt)
	}
}

// mustBeConfirmed: a consistent read that arrived at since is granted only if a quorum, this node among it, said after
// that that it promised nothing above the leader's ballot.
func (n *node) mustBeConfirmed(since time.Duration) {
	w, b := n.w, n.core.Ballot()
	votes := quorum.Of(n.id)
	for i := range w.nodes {
		if c := w.confirmed[n.i][i]; c.counter == b.Counter && c.run == n.run && c.at >= since {
			votes.Add(w.nodes[i].id)
		}
	}
	if !quorumOf(w.plan.nodes, votes) {
		w.fail("consistent reads are confirmed", "node %d grants a read that arrived at %v with the words of %v under %v", n.id, since-startTime, votes, b)
	}
}

// quorumOf counts for itself: package quorum is under test too.
func quorumOf(nodes int, votes quorum.Set) bool { return votes.Len() > nodes/2 }
