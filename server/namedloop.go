package server

import (
	"sync/atomic"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/lease/named"
	"tenure/server/replica"
	"tenure/server/wire"
)

// namedEvent is one input of the part for named leases on its way to a round.
type namedEvent struct {
	replica.LeasesEvent
	reply chan replica.LeaseAnswer // of a Request; has space for one
}

// namedLoop steps the part for named leases, on whichever goroutine the inbox has chosen, one at a time. It shares
// nothing with the lease loop and the log loop but the machine.
type namedLoop struct {
	n       *Node
	part    *replica.Leases
	driver  *replica.LeasesRound
	events  []namedEvent // of this round
	inbox   *inbox[namedEvent]
	replies map[uint64]chan replica.LeaseAnswer
	onward  chan struct{}     // the turn to step, handed on; space for one
	rearm   chan struct{}     // something is due before armed; space for one
	armed   atomic.Int64      // reading of the clock at which the timer fires
	buckets chan named.Bucket // to be made durable; space for one, and the part asks for one at a time
	view    atomic.Pointer[replica.LeasesStatus]

	quarantine time.Duration // reading of the clock before which the acceptor is silent (A4)
}

func newNamedLoop(n *Node, part *replica.Leases, quarantine time.Duration) *namedLoop {
	l := &namedLoop{n: n, part: part, driver: replica.NewLeasesRound(part), inbox: newInbox[namedEvent](), replies: map[uint64]chan replica.LeaseAnswer{},
		onward: make(chan struct{}, 1), rearm: make(chan struct{}, 1), buckets: make(chan named.Bucket, 1),
		quarantine: quarantine}
	l.view.Store(&replica.LeasesStatus{})
	l.inbox.drain = l.drain
	return l
}

// run keeps the time until stop is closed.
func (l *namedLoop) run(stop <-chan struct{}) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			select {
			case <-l.onward:
				l.inbox.release() // it is closed
			default:
			}
			return nil
		case <-timer.C:
			l.inbox.put(namedEvent{})
		case <-l.rearm:
		case <-l.onward:
			for l.turn() {
			}
		}
		// Not at once: if somebody else steps just now, that round arms anew.
		timer.Reset(max(time.Duration(l.armed.Load())-l.n.clock.Now(), time.Millisecond))
	}
}

// drain is a turn of whoever put an event. It does a few rounds and leaves the rest to the loop's own goroutine.
func (l *namedLoop) drain() {
	defer endOnPanic()
	for range guestRounds {
		if !l.turn() {
			return
		}
	}
	l.inbox.handOn(l.onward)
}

// turn is one round, and tells whether the turn goes on.
func (l *namedLoop) turn() bool {
	l.round()
	return !l.inbox.release()
}

// round takes all inputs that are there through the part once, in the order that the driver says.
func (l *namedLoop) round() {
	for {
		switch l.driver.Next() {
		case replica.EffectTake:
			l.take()
		case replica.EffectClock:
			l.driver.Read(l.n.clock.Now())
		case replica.EffectSend:
			l.send(l.driver.Batches())
		case replica.EffectReply:
			for _, a := range l.driver.Answers() {
				l.replies[a.ID] <- a
				delete(l.replies, a.ID)
			}
		case replica.EffectBucket:
			l.buckets <- l.driver.Bucket()
		case replica.EffectEra:
			go l.n.askEra()
		case replica.EffectTimer:
			s := l.part.Status(l.driver.Now())
			l.view.Store(&s)
			l.arm(l.driver.Wake())
		case replica.EffectDone:
			clear(l.events) // the inbox uses the array again
			l.events = nil
			return
		}
	}
}

// take hands the driver everything that waits.
func (l *namedLoop) take() {
	l.events = l.inbox.take()
	for i := range l.events {
		e := &l.events[i]
		if e.Request != nil {
			l.replies[e.Request.ID] = e.reply
		}
		l.driver.Add(&e.LeasesEvent)
	}
}

// arm has the timer fire at next at the latest.
func (l *namedLoop) arm(next time.Duration) {
	if old := l.armed.Swap(int64(next)); int64(next) >= old {
		return
	}
	select {
	case l.rearm <- struct{}{}:
	default:
	}
}

func (l *namedLoop) send(batches []replica.LeaseBatch) {
	for i := range batches {
		b := &batches[i]
		for len(b.Requests) > 0 || len(b.Replies) > 0 {
			l.n.transport.SendNamed(b.To, wire.EncodeNamed(b))
		}
	}
}

// runBuckets makes buckets durable (N4) until stop is closed. Lease messages do not wait for it: the acceptor drops
// what needs the new one.
func (l *namedLoop) runBuckets(stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case b := <-l.buckets:
			if err := l.n.store.SetBucket(b.Length, b.Quarantine); err != nil {
				return err
			}
			l.inbox.put(namedEvent{LeasesEvent: replica.LeasesEvent{Bucket: b}})
		}
	}
}

// stop answers those that wait; requests that come later are refused.
func (l *namedLoop) stop() {
	l.inbox.put(namedEvent{LeasesEvent: replica.LeasesEvent{Stop: true}})
}

// NamedFrame takes a frame of named leases from a peer.
func (n *Node) NamedFrame(from ballot.NodeID, inc ballot.Incarnation, body []byte, more bool) {
	b, err := wire.DecodeNamed(body)
	if n.decoded(from, err) {
		n.named.inbox.putPeer(namedEvent{LeasesEvent: replica.LeasesEvent{Batch: b, From: inc}}, more)
	}
}

// askEra has the log allot an era to this run (N3), however long that takes. The entry carries this run's incarnation
// and nonce in its key, and what is taken is the result of that very entry.
func (n *Node) askEra() {
	c := kv.Command{Op: kv.OpNewEra, IdemKey: n.eraKey(), Base: n.revision()}
	for {
		r, err := n.Write(eraPatience, c)
		switch {
		case err == nil && r.Code == kv.CodeDone:
			n.log.Info().Uint64("era", r.Count).Msg("an era of fencing tokens was allotted to this run")
			n.named.inbox.put(namedEvent{LeasesEvent: replica.LeasesEvent{Era: uint32(r.Count)}})
			return
		case err == nil:
			n.log.Error().Uint8("code", uint8(r.Code)).Msg("no era was allotted: this node does not vote about named leases; it asks again")
			c.IdemKey, c.Base = n.eraKey(), n.revision()
		}
		select {
		case <-n.ended:
			return
		case <-time.After(eraRetry):
		}
	}
}

const (
	eraPatience = 5 * time.Second
	eraRetry    = 100 * time.Millisecond
)
