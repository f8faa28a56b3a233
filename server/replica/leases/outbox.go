package leases

import (
	"time"

	"tenure/internal/ballot"
	"tenure/lease/named"
)

// An attempt sends to all voters (P1, P3). Any quorum decides, though, and a frame costs processor time at both ends.
// So only a quorum is asked at once, this node among them. Messages to the others linger and leave together with later
// ones, many leases in a frame. They leave at once when an acceptor has refused or did not answer in time.

// lingerMost is how long a message lingers at most.
const lingerMost = 4 * time.Millisecond

// lingering is what goes to one node next.
type lingering struct {
	Batch
	hurry bool
	since time.Duration // when the first of it came
}

// outbox gathers what goes to other nodes, and the answers to clients.
type outbox struct {
	batches []lingering // by voter, as far as there is something to send
	answers []Answer
}

// request adds a request for one node.
func (o *outbox) request(now time.Duration, to ballot.NodeID, q named.Request, hurry bool) {
	for i := range o.batches {
		if b := &o.batches[i]; b.To == to {
			b.Requests = append(b.Requests, q)
			b.hurry = b.hurry || hurry
			return
		}
	}
	o.batches = append(o.batches, lingering{Batch{To: to, Requests: []named.Request{q}}, hurry, now})
}

// reply adds a reply for one node. Replies do not linger.
func (o *outbox) reply(to ballot.Incarnation, r named.Reply) {
	for i := range o.batches {
		b := &o.batches[i]
		if b.To != to.Node || (b.For != to && !b.For.IsZero()) {
			continue
		}
		b.For, b.hurry = to, true
		b.Replies = append(b.Replies, r)
		return
	}
	o.batches = append(o.batches, lingering{Batch: Batch{To: to.Node, For: to, Replies: []named.Reply{r}},
		hurry: true})
}

// hurry makes all queued messages leave at once.
func (o *outbox) hurry() {
	for i := range o.batches {
		o.batches[i].hurry = true
	}
}

// hurryOld makes messages leave that have lingered long enough.
func (o *outbox) hurryOld(now time.Duration) {
	for i := range o.batches {
		b := &o.batches[i]
		b.hurry = b.hurry || now-b.since >= lingerMost
	}
}

// due is when hurryOld next has something to do.
func (o *outbox) due() (at time.Duration, some bool) {
	for i := range o.batches {
		if b := &o.batches[i]; !b.hurry && (!some || b.since+lingerMost < at) {
			at, some = b.since+lingerMost, true
		}
	}
	return at, some
}

// drain takes out what is to be sent to other nodes now, and the answers to clients.
func (o *outbox) drain() ([]Batch, []Answer) {
	var out []Batch
	kept := o.batches[:0]
	for _, b := range o.batches {
		if b.hurry {
			out = append(out, b.Batch)
		} else {
			kept = append(kept, b)
		}
	}
	clear(o.batches[len(kept):])
	a := o.answers
	o.batches, o.answers = kept, nil
	return out, a
}
