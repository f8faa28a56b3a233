package leases

import (
	"time"

	"tenure/internal/ballot"
	"tenure/lease/named"
)

// After a restart of a quorum of nodes nobody can acquire a lease until enough acceptors speak again (A4, N4). Clients
// are told so at once: a silent acceptor that drops a request says how long its silence lasts. That is not an answer of
// the protocol. It decides only when this node gives up.

// tellSilence answers a request that the acceptor has dropped in its silence.
func (l *Part) tellSilence(now time.Duration, to ballot.Incarnation, q *named.Request) {
	left := l.table.QuarantineLeft(now)
	if left > 0 && (q.Kind == named.Prepare || q.Kind == named.Accept) {
		l.out.reply(to, named.Reply{Kind: named.Silent, Name: q.Name, Counter: q.Counter, Left: left})
	}
}

// isSilent notes that node from keeps silent for another left. If no quorum is left, t ends.
func (l *Part) isSilent(now time.Duration, t *task, from ballot.NodeID, left time.Duration) {
	l.voters.keepsSilent(from, now+left)
	if t == nil || t.req.Op == Release {
		return
	}
	if wait := l.voters.silence(now, l.table.QuarantineLeft(now)); wait > 0 {
		l.refuseInSilence(now, t, wait)
		return
	}
	l.widen(t) // one vote less
}

// refuseInSilence ends a task.
func (l *Part) refuseInSilence(now time.Duration, t *task, wait time.Duration) {
	a := Answer{ID: t.req.ID, Outcome: NotApplied, Reason: Silent, RetryAfter: wait}
	if t.asked || t.attempt.Asked() {
		a.Outcome = Unknown
	}
	if t.counter != 0 {
		t.attempt.Abandon()
		if w, ok := t.attempt.Withdrawal(); ok {
			l.withdraw(now, w)
		}
	}
	l.answer(t, a)
}
