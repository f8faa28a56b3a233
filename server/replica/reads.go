package replica

import (
	"time"

	"tenure/internal/ballot"
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
	parked  []readWait // arrived, no point asked for
	asks    [2]ask     // default, consistent
	landing []readWait // granted, to be applied up to slot
	pending []readWait // at the master: default ones for the next finish, consistent ones for their round
	nextID  uint64
	round   uint64 // the newest of confirmation; 0: none in this epoch
	roundAt uint64 // tick at which it was started
}

// askTicks is how long an answer of the master is waited for before the question is put again.
const askTicks = 10

// readRequest takes a read of a client of this node; it is answered exactly once with a Reply.
func (l *Log) readRequest(r ReadRequest) {
	if len(l.reads.parked) >= l.cfg.MaxReads || l.leaving {
		why := Overloaded
		if l.leaving {
			why = Stopping
		}
		l.out.Replies = append(l.out.Replies, Reply{ID: r.ID, Outcome: Refused, Reason: why})
		return
	}
	l.reads.parked = append(l.reads.parked, readWait{id: r.ID, consistent: r.Consistent, until: r.Until})
}

// readLocally lets the reads that wait at the master go on.
func (l *Log) readLocally() {
	l.reads.pending = append(l.reads.pending, l.reads.parked...)
	l.reads.parked = nil
	l.reads.start(l)
}

// start opens a round of confirmation for the consistent reads that have none. A read never joins a round that was
// sent before it arrived; while one is under way the next one gathers.
func (r *readers) start(l *Log) {
	if l.core.ConfirmedRound() < r.round && l.ticks-r.roundAt < 2 {
		return
	}
	round := uint64(0)
	for i := range r.pending {
		w := &r.pending[i]
		if !w.consistent || w.round != 0 {
			continue
		}
		if round == 0 {
			round = l.core.Confirm()
			r.round, r.roundAt = round, l.ticks
		}
		w.round = round
	}
}

// finish grants the reads whose condition is met: at the master under the lease, with a clock reading made after the
// read point was taken; at a follower when it has applied up to the point.
func (r *readers) finish(l *Log, now time.Duration, p Published) {
	if l.ready && len(r.pending) > 0 {
		r.finishAtMaster(l, now, p)
	}
	kept := r.landing[:0]
	for _, w := range r.landing {
		if l.state.Applied() < w.slot {
			kept = append(kept, w)
			continue
		}
		l.out.Replies = append(l.out.Replies, Reply{ID: w.id, Outcome: Done})
	}
	r.landing = kept
}

func (r *readers) finishAtMaster(l *Log, now time.Duration, p Published) {
	confirmed := l.core.ConfirmedRound()
	held := p.Held(now) && p.Tenure == l.tenure
	kept := r.pending[:0]
	for _, w := range r.pending {
		switch {
		case w.consistent && (w.round == 0 || w.round > confirmed):
			kept = append(kept, w)
		case !held:
			r.refuse(l, w, NoMaster)
		default:
			r.grant(l, w)
		}
	}
	r.pending = kept
}

// grant gives w its point: what is applied now, at or beyond the barrier entry and all that was acknowledged.
func (r *readers) grant(l *Log, w readWait) {
	if w.from != 0 {
		l.send(Message{Kind: KindReadPointR, To: w.from, Read: ReadPoint{
			ID: w.id, Consistent: w.consistent, Granted: true, Slot: l.state.Applied()}})
		l.core.Advertise(w.from)
		return
	}
	l.out.Replies = append(l.out.Replies, Reply{
		ID: w.id, Outcome: Done, Ticketed: true, Ticket: Ticket{tenure: l.tenure, epoch: uint64(l.barrier)}})
}

func (r *readers) refuse(l *Log, w readWait, why Reason) {
	if w.from != 0 {
		l.send(Message{Kind: KindReadPointR, To: w.from, Read: ReadPoint{ID: w.id, Consistent: w.consistent}})
		return
	}
	l.out.Replies = append(l.out.Replies, Reply{ID: w.id, Outcome: Refused, Reason: why})
}

// refuseRemote ends the epoch for waiting reads: followers ask again, the clients' own reads wait for the next master.
func (r *readers) refuseRemote(l *Log) {
	for _, w := range r.pending {
		if w.from != 0 {
			r.refuse(l, w, NoMaster)
			continue
		}
		w.round = 0
		r.parked = append(r.parked, w)
	}
	r.pending, r.round = nil, 0
}

// askReadPoint asks the master for a point for the reads that wait here, at most one question of each kind at a time.
func (l *Log) askReadPoint() {
	r := &l.reads
	for kind := range r.asks {
		a := &r.asks[kind]
		if a.id != 0 && l.ticks-a.tick >= askTicks {
			r.unask(a)
		}
		if a.id != 0 || l.master.node == 0 || l.master.node == l.cfg.Self.Node {
			continue
		}
		waiting := r.takeParked(kind == 1)
		if len(waiting) == 0 {
			continue
		}
		r.nextID++
		*a = ask{id: l.cfg.Self.Nonce>>1 + r.nextID, to: l.master.node, tick: l.ticks, reads: waiting}
		l.send(Message{Kind: KindReadPoint, To: a.to, Read: ReadPoint{ID: a.id, Consistent: kind == 1}})
	}
}

func (r *readers) takeParked(consistent bool) (out []readWait) {
	kept := r.parked[:0]
	for _, w := range r.parked {
		if w.consistent == consistent {
			out = append(out, w)
		} else {
			kept = append(kept, w)
		}
	}
	r.parked = kept
	return out
}

func (r *readers) unask(a *ask) {
	r.parked = append(r.parked, a.reads...)
	*a = ask{}
}

// recall puts the reads that wait for node's answer back: asking again is always safe.
func (r *readers) recall(node ballot.NodeID) {
	for i := range r.asks {
		if r.asks[i].id != 0 && r.asks[i].to == node {
			r.unask(&r.asks[i])
		}
	}
	kept := r.pending[:0]
	for _, w := range r.pending {
		if w.from != node {
			kept = append(kept, w)
		}
	}
	r.pending = kept
}

// fromFollower takes a follower's question.
func (r *readers) fromFollower(l *Log, now time.Duration, from ballot.NodeID, p ReadPoint) {
	w := readWait{id: p.ID, from: from, consistent: p.Consistent, until: now + askTicks*TickEvery}
	if !l.ready || l.stopping || len(r.pending) >= l.cfg.MaxReads {
		r.refuse(l, w, NoMaster)
		return
	}
	r.pending = append(r.pending, w)
}

// fromMaster takes the master's answer to this node's question.
func (r *readers) fromMaster(l *Log, from ballot.NodeID, p ReadPoint) {
	for i := range r.asks {
		a := &r.asks[i]
		if a.id == 0 || a.id != p.ID || a.to != from {
			continue
		}
		if !p.Granted {
			if l.master.node == from {
				l.master.node = 0
			}
			r.unask(a)
			return
		}
		for _, w := range a.reads {
			w.slot = p.Slot
			r.landing = append(r.landing, w)
		}
		*a = ask{}
		return
	}
}

// expire refuses the reads that have waited too long.
func (r *readers) expire(l *Log, now time.Duration) {
	lists := []*[]readWait{&r.parked, &r.landing, &r.pending, &r.asks[0].reads, &r.asks[1].reads}
	for _, list := range lists {
		kept := (*list)[:0]
		for _, w := range *list {
			if now < w.until {
				kept = append(kept, w)
			} else {
				r.refuse(l, w, l.whyWaiting())
			}
		}
		*list = kept
	}
}
