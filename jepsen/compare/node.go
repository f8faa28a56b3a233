package compare

import (
	"time"

	"tenure/internal/ballot"
)

// node is one machine: a contender and, on nodes 1 to 3, a voter, under the shell that is the same for all algorithms.
type node struct {
	w             *world
	i             int
	id            ballot.NodeID
	contender     contender
	voter         voter // nil: none
	elapsed, wall clock
	up            bool
	still         bool    // suspended or frozen
	claims        bool    // owned after the last event here; only such a node can own now
	held          []event // that came meanwhile
	runs          int

	wants    bool
	trying   bool
	owned    bool // at the last look
	keeping  int  // renewals that it still goes for; negative: all
	wins     int
	draws    int
	tryAt    time.Duration // when it tries next, if nothing is owned or a renewal is due
	triedAt  time.Duration
	resendAt time.Duration
}

func (n *node) read() readings { return readings{n.elapsed.at(n.w.now), n.wall.at(n.w.now)} }

// boot starts a run.
func (n *node) boot() {
	r := n.read()
	n.up, n.trying, n.owned = true, false, false
	n.contender, n.voter = n.w.core.boot(n.id, n.runs, r)
	if n.i >= voters {
		n.voter = nil
	}
}

// backoff is the wait that follows a failed attempt and the end of one's own lease: the same for all algorithms.
func (n *node) backoff() time.Duration {
	n.draws++
	p := n.w.params
	return between(n.w.schedule.ask(askBackoff, n.i, n.draws), p.BackoffLeast, p.BackoffMost)
}

// retry sets the next try.
func (n *node) retry() {
	n.tryAt = n.w.now + n.backoff()
	n.w.wake(n, n.tryAt)
}

// acts reports whether the node handles events now.
func (n *node) acts() bool { return n.up && !n.still }

// owns reports whether the running process would read that it owns.
func (n *node) owns() bool { return n.acts() && n.contender.owns(n.read()) }

// wakeUp is a timer.
func (n *node) wakeUp() {
	n.settle()
	s := n.contender.standing(n.read())
	now := n.w.now
	if (n.trying || s.owns) && now >= n.resendAt {
		n.w.post(n, n.contender.resend(n.read()))
		n.resendAt = now + n.w.params.Resend
		n.w.wake(n, n.resendAt)
		n.settle()
	}
	if n.trying && now >= n.triedAt+n.w.params.GiveUpAfter {
		n.giveUp(s.owns)
	}
	if n.trying || !n.wants || now < n.tryAt || s.owns && n.keeping == 0 {
		return
	}
	n.try()
}

func (n *node) try() {
	out := n.contender.start(n.read())
	if len(out) == 0 {
		n.retry()
		return
	}
	t := &n.w.tally
	if n.owned {
		if t.renewals == 0 {
			t.first.messages, t.first.rounds = t.messages, t.rounds
		}
		t.renewals++
	}
	n.trying, n.triedAt, n.resendAt = true, n.w.now, n.w.now+n.w.params.Resend
	t.attempts++
	t.rounds++
	n.w.wake(n, n.resendAt)
	n.w.post(n, out)
}

// take is a message.
func (n *node) take(l letter) {
	if l.request {
		if n.voter == nil {
			return
		}
		if reply, ok := n.voter.take(n.read(), l); ok {
			n.w.post(n, []letter{reply})
		}
		return
	}
	if out := n.contender.take(n.read(), l); len(out) > 0 {
		n.w.tally.rounds++
		n.w.post(n, out)
	}
	n.settle()
}

// settle checks how the attempt and the lease have ended.
func (n *node) settle() {
	s := n.contender.standing(n.read())
	if n.owned && !s.owns {
		n.owned = false
		if n.keeping != 0 {
			n.w.tally.lost++
		}
		if !n.trying {
			n.retry()
		}
	}
	switch {
	case s.owns && !n.owned: // perhaps by an attempt that was given up, whose answers came late
		n.trying = false
		n.won(s)
	case !n.trying || s.busy:
	case s.owns && s.won:
		n.trying = false
		n.won(s)
	default:
		n.giveUp(s.owns)
	}
}

// giveUp ends an attempt that has failed, or that waits for a node that may be down. Its traces at voters would block
// everybody, this node too, unless they are withdrawn.
func (n *node) giveUp(owns bool) {
	n.trying = false
	if !owns {
		n.w.post(n, n.contender.leave(n.read()))
	}
	n.retry()
}

// won is the start of a lease or its renewal.
func (n *node) won(s standing) {
	t := &n.w.tally
	if n.owned {
		t.renewed++
		n.keeping--
	} else {
		t.won++
		if t.won == 1 {
			t.took = n.w.now - n.triedAt
		}
		n.wins++
		n.keeping = 0
		if f := n.w.schedule.renewals; f != nil && n.w.core.renews {
			n.keeping = f(n.i, n.wins)
		}
		n.w.ownerBegan()
	}
	n.owned = true
	n.w.wake(n, n.w.now+s.left)
	n.tryAt = n.w.now + s.left
	if n.keeping != 0 {
		n.tryAt = n.w.now + s.renewIn
		n.w.wake(n, n.tryAt)
	}
}
