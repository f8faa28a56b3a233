package replica

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease/named"
)

// An attempt sends to all voters (P1, P3). Any quorum decides, though, and a frame costs processor time at both ends,
// so only as many as make a quorum are asked at once, this node among them. What goes to the others lingers, and leaves
// with what comes after it: many leases in a frame. It leaves at once when somebody has refused, or did not answer in
// time.

// leaseLinger is how long it lingers at most.
const leaseLinger = 4 * time.Millisecond

// leaseOut is what goes to one node next.
type leaseOut struct {
	LeaseBatch
	hurry bool
	since time.Duration // when the first of it came
}

// send sends what the task's attempt asks of those that have not answered. Others come first: they work meanwhile.
func (l *Leases) send(now time.Duration, t *leaseTask) {
	q, to := l.outstanding(now, t)
	own := false
	for i := range to.Len() {
		switch n := to.At(i); {
		case n == l.cfg.Self.Node:
			own = true
		default:
			l.sendRequest(now, n, q, t.wide || t.first.Has(n) || q.Kind == named.Release)
		}
	}
	if !own {
		return
	}
	reply, ok := l.table.Handle(now, l.cfg.Self, q)
	if q.Kind == named.Release {
		l.released(now, q.Name)
	}
	if !ok {
		l.silent.Add(l.cfg.Self.Node)
		return
	}
	l.heard(l.cfg.Self.Node)
	l.handle(now, l.cfg.Self.Node, &reply)
}

// first is the voters that the attempt of a counter asks at once: as few as make a quorum, each attempt others, none
// that has been silent of late if there are enough.
func (l *Leases) first(counter uint64) quorum.Set {
	var s quorum.Set
	if self := l.cfg.Self.Node; l.cfg.Voters.Has(self) && !l.silent.Has(self) {
		s.Add(self)
	}
	all := l.cfg.Voters.Len()
	for _, silent := range [...]bool{false, true} {
		for i := 0; i < all && s.Len() < l.cfg.Voters.Need(); i++ {
			n := l.cfg.Voters.At((i + int(counter%uint64(all))) % all)
			if l.silent.Has(n) == silent {
				s.Add(n)
			}
		}
	}
	return s
}

// widen hurries to all voters from now on, and what lingers for them.
func (l *Leases) widen(t *leaseTask) {
	t.wide = true
	for i := range l.batches {
		l.batches[i].hurry = true
	}
}

// overtaken is when enough have promised. It is they who are asked at once to accept: they answer.
func (l *Leases) overtaken(t *leaseTask) {
	for i := range t.first.Len() {
		if n := t.first.At(i); !t.wide && !t.voted.Has(n) {
			l.silent.Add(n)
		}
	}
	t.first = t.voted
}

// overdue notes those that were asked at once and have not answered in time.
func (l *Leases) overdue(t *leaseTask) {
	for i := range t.first.Len() {
		if n := t.first.At(i); !t.attempt.Answered(n) {
			l.silent.Add(n)
		}
	}
}

// heard notes that n answers.
func (l *Leases) heard(n ballot.NodeID) {
	if !l.silent.Has(n) {
		return
	}
	var s quorum.Set
	for i := range l.silent.Len() {
		if m := l.silent.At(i); m != n {
			s.Add(m)
		}
	}
	l.silent = s
}

// sendRequest and sendReply gather what goes to one node.
func (l *Leases) sendRequest(now time.Duration, to ballot.NodeID, q named.Request, hurry bool) {
	for i := range l.batches {
		if b := &l.batches[i]; b.To == to {
			b.Requests = append(b.Requests, q)
			b.hurry = b.hurry || hurry
			return
		}
	}
	l.batches = append(l.batches, leaseOut{LeaseBatch{To: to, Requests: []named.Request{q}}, hurry, now})
}

func (l *Leases) sendReply(to ballot.Incarnation, r named.Reply) {
	for i := range l.batches {
		b := &l.batches[i]
		if b.To != to.Node || (b.For != to && !b.For.IsZero()) {
			continue
		}
		b.For, b.hurry = to, true
		b.Replies = append(b.Replies, r)
		return
	}
	l.batches = append(l.batches, leaseOut{LeaseBatch: LeaseBatch{To: to.Node, For: to, Replies: []named.Reply{r}}, hurry: true})
}

// depart has what has waited long enough go.
func (l *Leases) depart(now time.Duration) {
	for i := range l.batches {
		b := &l.batches[i]
		b.hurry = b.hurry || now-b.since >= leaseLinger
	}
}

// departs is when that is next.
func (l *Leases) departs() (at time.Duration, some bool) {
	for i := range l.batches {
		if b := &l.batches[i]; !b.hurry && (!some || b.since+leaseLinger < at) {
			at, some = b.since+leaseLinger, true
		}
	}
	return at, some
}

// take drains what is to be sent to other nodes now and the answers to clients.
func (l *Leases) take() ([]LeaseBatch, []LeaseAnswer) {
	var out []LeaseBatch
	kept := l.batches[:0]
	for _, b := range l.batches {
		if b.hurry {
			out = append(out, b.LeaseBatch)
		} else {
			kept = append(kept, b)
		}
	}
	clear(l.batches[len(kept):])
	a := l.answers
	l.batches, l.answers = kept, nil
	return out, a
}
