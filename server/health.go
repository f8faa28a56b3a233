package server

import (
	"sync/atomic"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/codec"
	"tenure/server/replica"
)

// healths holds the newest word of each peer's health (M6) from when its lease connection brings it until the log loop's
// next tick: a reader of that connection must never wait for the log loop. It is made before the first frame comes.
type healths map[ballot.NodeID]*atomic.Pointer[replica.Health]

func newHealths(peers []ballot.NodeID) healths {
	h := healths{}
	for _, p := range peers {
		h[p] = new(atomic.Pointer[replica.Health])
	}
	return h
}

// takeHealth takes a peer's word from its lease connection.
func (n *Node) takeHealth(from ballot.NodeID, body []byte) {
	h := new(replica.Health)
	if p := n.healths[from]; p != nil && n.decode(from, body, h) {
		p.Store(h)
	}
}

func encodeHealth(h *replica.Health) []byte { return codec.Append([]byte{frameHealth}, h) }

// hearHealth hands the words that have come to the log part.
func (l *logLoop) hearHealth(now time.Duration) {
	for _, p := range l.n.peers {
		if h := l.n.healths[p].Swap(nil); h != nil {
			l.part.HearHealth(now, p, *h)
		}
	}
}

// deliverProgress sends this node's health, and has the lease released if the log part wants that (M6). What bars further
// attempts is published first. The wish comes again with each tick until it is fulfilled, so a full inbox may drop it.
func (l *logLoop) deliverProgress(out *replica.Output) {
	n := l.n
	if out.Health != nil {
		body := encodeHealth(out.Health)
		for _, p := range n.peers {
			n.transport.SendLease(p, body)
		}
	}
	if out.LetGo.Holding == 0 {
		return
	}
	l.publishStanding(n.clock.Now())
	select {
	case n.leaseIn <- leaseEvent{letGo: out.LetGo}:
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
