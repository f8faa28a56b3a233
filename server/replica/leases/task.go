package leases

import (
	"time"

	"tenure/internal/quorum"
	"tenure/lease/named"
)

// task is one request of a client until its answer.
type task struct {
	req     Request
	began   time.Duration // when the request came
	counter uint64        // of what is under way, 0: nothing is
	attempt named.Attempt
	tried   time.Duration // when the attempt began
	tries   int
	resent  int         // in this attempt
	first   quorum.Set  // voters that this attempt asks at once
	voted   quorum.Set  // those that have promised
	wide    bool        // it asks all at once
	asked   bool        // some attempt before had Accept out
	atLeast named.Token // N2: the largest that refusals have reported
	queue   *queue      // it waits in, if any
	votes   quorum.Set  // Release: voters that have answered
}

// outstanding is what t asks, and of whom it has no answer.
func (t *task) outstanding(now time.Duration, voters quorum.Set) (named.Request, quorum.Set) {
	if t.req.Op != Release {
		return t.attempt.Requests(now)
	}
	var to quorum.Set
	for i := range voters.Len() {
		if n := voters.At(i); !t.votes.Has(n) {
			to.Add(n)
		}
	}
	return named.Request{Kind: named.Release, Name: t.req.Name, Counter: t.counter, Acquisition: t.req.Acquisition}, to
}

// failed is the answer if t is not tried again.
func (t *task) failed() Answer {
	out := Answer{ID: t.req.ID, Outcome: NotApplied}
	switch t.attempt.End() {
	case named.EndBlocked:
		b, _ := t.attempt.Blocker()
		out.Outcome, out.Owner, out.RetryAfter = Busy, b.Owner, t.attempt.RetryIn()
	case named.EndRejected:
		b, _ := t.attempt.Blocker()
		out.Outcome, out.Owner, out.RetryAfter = Busy, b.Owner, resendEvery
	case named.EndUsedUp:
		out.Reason = EraUsedUp
	case named.EndFull:
		out.Reason = NoSpace
	default:
		out.Reason = NoQuorum
	}
	if t.asked && out.Outcome == NotApplied {
		out.Outcome = Unknown
	}
	return out
}
