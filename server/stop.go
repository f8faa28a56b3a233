package server

import (
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica"
)

// How long a stopping or handing-over master finishes what is in flight, and how long it then stands back.
const (
	finishFor      = 100 * time.Millisecond
	standBackLease = 4 // lease times
	releaseWait    = time.Second
)

// handOver gives up mastership in the order that log.md fixes: take up no new requests, finish what is in flight for a
// short while, stop acting as master, answer the rest unknown, release the lease. next is a hint, 0 for none. With
// CauseStopping it is for good.
func (n *Node) handOver(next ballot.NodeID, why replica.Cause) {
	forGood := why == replica.CauseStopping
	n.onLogLoop(func(part *replica.Log) {
		if forGood {
			part.Stop()
		} else {
			part.HandOver()
		}
	})
	for end := n.clock.Now() + finishFor; n.clock.Now() < end; {
		idle := false
		n.onLogLoop(func(part *replica.Log) { idle = part.Idle() })
		if idle {
			break
		}
		time.Sleep(time.Millisecond)
	}
	n.onLogLoop(func(part *replica.Log) { part.StepDown(n.clock.Now()) })
	r := leaseEvent{done: make(chan struct{}), ElectorEvent: replica.ElectorEvent{
		Release: &replica.Release{StandBack: standBackLease * n.cfg.LeaseTime, Why: why, Next: next}}}
	select {
	case n.leaseIn <- r:
		select {
		case <-r.done:
		case <-n.ended:
		}
	case <-n.ended:
	case <-time.After(releaseWait): // the lease then ends by itself
	}
	if !forGood {
		n.onLogLoop(func(part *replica.Log) { part.Resume() })
	}
}

// onLogLoop runs f on the log loop and waits for it.
func (n *Node) onLogLoop(f func(part *replica.Log)) {
	done := make(chan struct{})
	n.inbox.put(event{Event: replica.Event{Call: func(time.Duration) { f(n.loop.part); close(done) }}})
	select {
	case <-done:
	case <-n.ended:
	}
}
