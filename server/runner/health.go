package runner

import (
	"sync/atomic"
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica"
)

// Health is how able this node and its peers are to serve as master (M6). The runner of the log publishes this node's
// standing, the connections bring what peers say, and the runner of the elector asks whether the log hangs. Nobody
// waits for anybody here: a reader of a lease connection must never wait for the log.
type Health struct {
	bound    time.Duration // of M6
	peers    []ballot.NodeID
	standing atomic.Pointer[replica.Standing]
	heard    map[ballot.NodeID]*atomic.Pointer[heardHealth] // not yet taken by the log, by peer
}

// heardHealth is what a peer has said of itself, with the reading of the clock at which it came.
type heardHealth struct {
	replica.Health
	at time.Duration
}

// NewHealth returns the Health of a node with these peers. bound is M6's: for so long the log may hang.
func NewHealth(peers []ballot.NodeID, bound time.Duration) *Health {
	h := &Health{bound: bound, peers: peers, heard: map[ballot.NodeID]*atomic.Pointer[heardHealth]{}}
	h.standing.Store(&replica.Standing{})
	for _, p := range peers {
		h.heard[p] = new(atomic.Pointer[heardHealth])
	}
	return h
}

// Hear takes what a peer says of itself.
func (h *Health) Hear(now time.Duration, from ballot.NodeID, said replica.Health) {
	if p := h.heard[from]; p != nil {
		p.Store(&heardHealth{Health: said, at: now})
	}
}

// Standing returns this node's own standing, as of the log's last tick.
func (h *Health) Standing() replica.Standing { return *h.standing.Load() }

// take returns what has come since the last take, and appends it to events.
func (h *Health) take(events []replica.Event) []replica.Event {
	for _, p := range h.peers {
		if said := h.heard[p].Swap(nil); said != nil {
			events = append(events, replica.Event{Health: &said.Health, From: p})
		}
	}
	return events
}

// hung implements M6 for a log that hangs itself, in a call of the disk or for want of a processor: if it has not
// ticked for a bound, and a peer has said since that it is able, the node that holds the lease in tenure lets go. The
// log is not asked to step down: it acts under what Mastership shows, and finds no tenure there when it goes on.
// Further attempts are barred until it ticks.
func (h *Health) hung(now time.Duration, tenure uint64) replica.LetGo {
	s := h.standing.Load()
	if tenure == 0 || s.At == 0 || now-s.At < h.bound {
		return replica.LetGo{}
	}
	for _, p := range h.peers {
		said := h.heard[p].Load()
		if said == nil || !said.Able && !said.Fit || now-said.at >= h.bound/4 {
			continue
		}
		barred := *s
		barred.Able, barred.Barred = false, true
		h.standing.CompareAndSwap(s, &barred)
		return replica.LetGo{Tenure: tenure, Reason: replica.ReasonHung, For: now - s.At}
	}
	return replica.LetGo{}
}
