package server

import (
	"sync/atomic"
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica"
	"tenure/server/wire"
)

// healths holds the newest word of each peer's health (M6) from when its lease connection brings it until the log
// loop's next tick: a reader of that connection must never wait for the log loop. It is made before the first frame
// comes.
type healths map[ballot.NodeID]*atomic.Pointer[word]

// word is a peer's health with the reading at which it came.
type word struct {
	replica.Health
	at time.Duration
}

func newHealths(peers []ballot.NodeID) healths {
	h := healths{}
	for _, p := range peers {
		h[p] = new(atomic.Pointer[word])
	}
	return h
}

// takeHealth takes a peer's word from its lease connection.
func (n *Node) takeHealth(from ballot.NodeID, h replica.Health) {
	if p := n.healths[from]; p != nil {
		p.Store(&word{Health: h, at: n.clock.Now()})
	}
}

// logHangs implements M6 for a log loop that hangs itself, in a call of the disk or for want of a processor: if it has
// not ticked for a bound, and a peer has said since that it is able, this node lets go. The log part is not asked to
// step down: it acts under the gate only, and finds no tenure there when it goes on. Further attempts are barred until
// it ticks.
func (n *Node) logHangs(now time.Duration) replica.LetGo {
	held, s, bound := n.elector.State(now).Tenure, n.standing.Load(), replica.ProgressFor(n.cfg.LeaseTime).Bound
	if held == 0 || s.At == 0 || now-s.At < bound {
		return replica.LetGo{}
	}
	for _, p := range n.peers {
		if w := n.healths[p].Load(); w != nil && (w.Able || w.Fit) && now-w.at < bound/4 {
			hung := *s
			hung.Able, hung.Barred = false, true
			n.standing.CompareAndSwap(s, &hung)
			return replica.LetGo{Tenure: held, Reason: replica.ReasonHung, For: now - s.At}
		}
	}
	return replica.LetGo{}
}

// hearHealth hands the words that have come to the driver.
func (l *logLoop) hearHealth() {
	l.words = l.words[:0]
	for _, p := range l.n.peers {
		if h := l.n.healths[p].Swap(nil); h != nil {
			l.words = append(l.words, replica.Event{Health: &h.Health, From: p})
		}
	}
	for i := range l.words {
		l.driver.Add(&l.words[i])
	}
}

// deliverProgress sends this node's health, and has the lease released if the log part wants that (M6). What bars
// further attempts is published first. The wish comes again with each tick until it is fulfilled, so a full inbox may
// drop it.
func (l *logLoop) deliverProgress(out *replica.Output) {
	n := l.n
	if out.Health != nil {
		body := wire.EncodeHealth(out.Health)
		for _, p := range n.peers {
			n.transport.SendLease(p, body)
		}
	}
	if out.LetGo.Tenure == 0 {
		return
	}
	l.publishStanding(n.clock.Now())
	select {
	case n.leaseIn <- leaseEvent{ElectorEvent: replica.ElectorEvent{LetGo: out.LetGo}}:
	default:
	}
}

// publishStanding shows the lease loop and status how able this node is, and logs when its disk stops answering.
func (l *logLoop) publishStanding(now time.Duration) {
	s := l.part.Standing(now)
	l.n.standing.Store(&s)
	switch silent := s.DiskSilent; {
	case silent >= l.complainAt:
		l.n.log.Error().Int64("seconds", int64(silent/time.Second)).Str("data", l.n.cfg.Data).
			Msgf("the disk has not answered for %d s", silent/time.Second)
		l.complainAt = 2 * silent
	case l.complainAt > diskComplaint && silent < diskComplaint:
		l.n.log.Info().Str("data", l.n.cfg.Data).Msg("the disk answers again")
		l.complainAt = diskComplaint
	}
}

// diskComplaint is how long a sync may take before the log says so; it says so again each time that has doubled.
const diskComplaint = 2 * time.Second
