package replica

import (
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/multipaxos"
)

// readWait is a read that waits for its read point. At the master from may be a follower, whose id then stands for
// all the reads that wait there.
type readWait struct {
	id         uint64
	from       ballot.NodeID // 0: a client of this node
	consistent bool
	until      time.Duration
	round      uint64 // of confirmation, started after the read arrived; 0: none yet
	slot       uint64 // to be applied here before the read is answered
}

// ask is a request for a read point that was sent to the master, with the reads that wait for it. Reads that arrive
// later wait for the next one: a read never joins a request already sent.
type ask struct {
	id    uint64 // 0: none
	to    ballot.NodeID
	tick  uint64 // when it was sent
	reads []readWait
}

// readers holds all reads that wait here.
type readers struct {
	max     int        // of reads of clients of this node; a follower has a question of each kind at most
	nonce   uint64     // of the run
	waiting []readWait // of clients of this node: no point asked for
	asks    [2]ask     // default, consistent
	granted []readWait // to be answered when slot is applied
	pending []readWait // at the master: default ones for the next finish, consistent ones for their round
	nextID  uint64
	round   uint64 // the newest of confirmation; 0: none in this epoch
	roundAt uint64 // tick at which it was started
}

// askTicks is how long an answer of the master is waited for before the question is put again.
const askTicks = 10

// add takes a read of a client of this node.
func (r *readers) add(now time.Duration, q *ReadRequest, leaving bool, out *outbox) {
	if r.count() >= r.max || leaving {
		why := Overloaded
		if leaving {
			why = Stopping
		}
		out.reply(Reply{ID: q.ID, Outcome: Refused, Reason: why})
		return
	}
	r.waiting = append(r.waiting, readWait{id: q.ID, consistent: q.Consistent,
		until: waitsUntil(now, q.Until, q.Wait)})
}

// start lets the reads that wait at the master go on. It opens a round of confirmation for the consistent reads that
// have none. A read never joins a round that was sent before the read arrived. While a round is under way the next one
// gathers, for two ticks at most.
func (r *readers) start(core *multipaxos.Core, tick uint64) {
	r.pending = append(r.pending, r.waiting...)
	r.waiting = nil
	if core.ConfirmedRound() < r.round && tick-r.roundAt < 2 {
		return
	}
	round := uint64(0)
	for i := range r.pending {
		w := &r.pending[i]
		if !w.consistent || w.round != 0 {
			continue
		}
		if round == 0 {
			round = core.Confirm()
			r.round, r.roundAt = round, tick
		}
		w.round = round
	}
}

// finishAtMaster grants, under the lease, the reads whose condition is met. applied is the read point, and now a clock
// reading made after applied was taken.
func (r *readers) finishAtMaster(now time.Duration, p Published, e *epoch, applied uint64, core *multipaxos.Core,
	out *outbox) {
	confirmed := core.ConfirmedRound()
	held := p.HeldAs(e.tenure, now)
	kept := r.pending[:0]
	for _, w := range r.pending {
		switch {
		case w.consistent && (w.round == 0 || w.round > confirmed):
			kept = append(kept, w)
		case !held:
			r.refuse(w, NoMaster, out)
		case w.from != 0: // what is applied now is at or beyond the barrier entry and all that was acknowledged
			out.send(Message{Kind: KindReadPointR, To: w.from,
				Read: ReadPoint{ID: w.id, Consistent: w.consistent, Granted: true, Slot: applied}})
			core.Advertise(w.from)
		default:
			out.reply(Reply{ID: w.id, Outcome: Done, Ticketed: true, Ticket: Ticket{tenure: e.tenure, epoch: e.number()}})
		}
	}
	r.pending = kept
}

// finish answers the reads of a follower whose point is applied.
func (r *readers) finish(applied uint64, out *outbox) {
	kept := r.granted[:0]
	for _, w := range r.granted {
		if applied < w.slot {
			kept = append(kept, w)
			continue
		}
		out.reply(Reply{ID: w.id, Outcome: Done})
	}
	r.granted = kept
}

// refuse tells a client why its read is not answered, and a follower that this node is not the master.
func (r *readers) refuse(w readWait, why Reason, out *outbox) {
	if w.from != 0 {
		out.send(Message{Kind: KindReadPointR, To: w.from, Read: ReadPoint{ID: w.id, Consistent: w.consistent}})
		return
	}
	out.reply(Reply{ID: w.id, Outcome: Refused, Reason: why})
}

// refuseRemote ends the epoch for waiting reads: followers ask again, the clients' own reads wait for the next master.
func (r *readers) refuseRemote(out *outbox) {
	for _, w := range r.pending {
		if w.from != 0 {
			r.refuse(w, NoMaster, out)
			continue
		}
		w.round = 0
		r.waiting = append(r.waiting, w)
	}
	r.pending, r.round = nil, 0
}

// ask asks another node, the master, for a point for the reads that wait here, at most one question of each kind at a
// time. 0: no master is known.
func (r *readers) ask(master ballot.NodeID, tick uint64, out *outbox) {
	for kind := range r.asks {
		a := &r.asks[kind]
		if a.id != 0 && tick-a.tick >= askTicks {
			r.unask(a)
		}
		if a.id != 0 || master == 0 {
			continue
		}
		waiting := r.takeWaiting(kind == 1)
		if len(waiting) == 0 {
			continue
		}
		r.nextID++
		*a = ask{id: r.nonce>>1 + r.nextID, to: master, tick: tick, reads: waiting}
		out.send(Message{Kind: KindReadPoint, To: a.to, Read: ReadPoint{ID: a.id, Consistent: kind == 1}})
	}
}

func (r *readers) takeWaiting(consistent bool) (out []readWait) {
	kept := r.waiting[:0]
	for _, w := range r.waiting {
		if w.consistent == consistent {
			out = append(out, w)
		} else {
			kept = append(kept, w)
		}
	}
	r.waiting = kept
	return out
}

func (r *readers) unask(a *ask) {
	r.waiting = append(r.waiting, a.reads...)
	*a = ask{}
}

// recall puts the reads that wait for node's answer back: asking again is always safe.
func (r *readers) recall(node ballot.NodeID) {
	if node == 0 {
		return // 0 stands for the clients of this node
	}
	for i := range r.asks {
		if r.asks[i].id != 0 && r.asks[i].to == node {
			r.unask(&r.asks[i])
		}
	}
	r.pending = slices.DeleteFunc(r.pending, func(w readWait) bool { return w.from == node })
}

// unaskAll puts the reads back that wait for the answer of another node, since this one serves now.
func (r *readers) unaskAll() {
	for i := range r.asks {
		r.unask(&r.asks[i])
	}
}

// fromFollower takes a follower's question, in place of the one of that kind that the follower has given up. A node
// that does not serve refuses it.
func (r *readers) fromFollower(now time.Duration, from ballot.NodeID, p ReadPoint, serves bool, out *outbox) {
	w := readWait{id: p.ID, from: from, consistent: p.Consistent, until: now + askTicks*TickEvery}
	if !serves {
		r.refuse(w, NoMaster, out)
		return
	}
	r.pending = slices.DeleteFunc(r.pending, func(old readWait) bool {
		return old.from == from && old.consistent == p.Consistent
	})
	r.pending = append(r.pending, w)
}

// fromMaster takes the answer of node from to this node's question, and reports whether it says that from is not the
// master.
func (r *readers) fromMaster(from ballot.NodeID, p ReadPoint) (notMaster bool) {
	for i := range r.asks {
		a := &r.asks[i]
		if a.id == 0 || a.id != p.ID || a.to != from {
			continue
		}
		if !p.Granted {
			r.unask(a)
			return true
		}
		for _, w := range a.reads {
			w.slot = p.Slot
			r.granted = append(r.granted, w)
		}
		*a = ask{}
		return false
	}
	return false
}

// expire refuses the reads that have waited too long: why says what for, unless it was for this node to catch up. A
// follower's question is dropped, since the follower asks again.
func (r *readers) expire(now time.Duration, why Reason, out *outbox) {
	lists := []*[]readWait{&r.waiting, &r.granted, &r.pending, &r.asks[0].reads, &r.asks[1].reads}
	for _, list := range lists {
		why := why
		if list == &r.granted {
			why = NotCaughtUp
		}
		kept := (*list)[:0]
		for _, w := range *list {
			switch {
			case now < w.until:
				kept = append(kept, w)
			case w.from == 0:
				r.refuse(w, why, out)
			}
		}
		*list = kept
	}
}

// stuck reports whether consistent reads wait for a round that nobody has confirmed yet.
func (r *readers) stuck(confirmed uint64) bool { return len(r.pending) > 0 && r.round > confirmed }

// count is how many reads wait, with the questions of followers.
func (r *readers) count() int {
	return len(r.waiting) + len(r.pending) + len(r.granted) + len(r.asks[0].reads) + len(r.asks[1].reads)
}
