package sim

import (
	"time"

	"tenure/internal/ballot"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// answerCheck checks what one process' log part answers: that the lease was held, and that consistent reads were
// confirmed.
type answerCheck struct {
	*board
	core      *multipaxos.Core
	now       time.Duration     // the round's newest reading of the clock
	published replica.Published // as that round saw it
	appliedAt time.Duration     // reading of the clock when entries were last applied
	asked     map[askKey]question
}

// askKey names a follower's question for a read point.
type askKey struct {
	from ballot.NodeID
	id   uint64
}

// question is when a follower's question was taken.
type question struct {
	at      time.Duration // true time
	reading time.Duration
}

// taken notes a follower's question for a read point.
func (c *answerCheck) taken(m *replica.Message) {
	if m.Kind == replica.KindReadPoint {
		c.asked[askKey{m.From, m.Read.ID}] = question{at: c.engine.now, reading: c.reading()}
	}
}

// answers checks an answer as it leaves for its handler. One that another node has given is only passed on.
func (c *answerCheck) answers(a *attempt, r *replica.Reply, acknowledges bool) {
	if r.Outcome != replica.Done || !a.isWrite() && !r.Ticketed || !acknowledges {
		return
	}
	c.mustHold()
	if a.isWrite() {
		c.mustHaveHeld(c.appliedAt, "a write")
	}
	if r.Ticketed && a.mode == consistent {
		c.masters.mustBeConfirmed(c.machine, c.core.Ballot(), c.core.Chosen(), a.parked)
	}
}

// tells checks a message to another log part as it leaves: an answer to a forwarded write, or a point to read from.
func (c *answerCheck) tells(m *replica.Message) {
	for _, a := range m.Answers {
		if a.Outcome == replica.Done {
			c.mustHold()
			c.mustHaveHeld(c.appliedAt, "a forwarded write")
		}
	}
	if m.Kind != replica.KindReadPointR || !m.Read.Granted {
		return
	}
	k := askKey{m.To, m.Read.ID}
	q := c.asked[k]
	delete(c.asked, k)
	c.mustHold()
	c.mustHaveHeld(q.reading, "a question for a read point")
	if m.Read.Consistent {
		c.masters.mustBeConfirmed(c.machine, c.core.Ballot(), c.core.Chosen(), q.at)
	}
}

// mustHold checks that the lease was held, and the log ready, by the last reading of the clock: else no write is
// acknowledged and no point to read from given.
func (c *answerCheck) mustHold() {
	if !c.published.Held(c.now) || c.published.Ready != c.published.Tenure {
		c.fail("answers under the lease", "node %d acknowledges at %v: tenure %d until %v, ready for %d", c.id, c.now,
			c.published.Tenure, c.published.Deadline, c.published.Ready)
	}
}

// mustHaveHeld checks that the lease was held for a moment after the reading since, whatever the driver has read. At
// since the answered request was applied or asked.
func (c *answerCheck) mustHaveHeld(since time.Duration, what string) {
	if p := c.pub; (p.Tenure == 0 || since >= p.Deadline) && since > c.ended {
		c.fail("answers under the lease", "node %d answers %s of %v, and has not held the lease since: "+
			"tenure %d until %v, the one before ended at %v", c.id, what, since, p.Tenure, p.Deadline, c.ended)
	}
}
