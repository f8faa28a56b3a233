package runner

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica"
	"tenure/server/replica/elector"
)

// Health is how able this node and its peers are to serve as master (M6). The runner of the log publishes this node's
// standing, the connections bring what peers say, and the runner of the elector asks whether the log hangs. No method
// waits for another goroutine: a reader of a lease connection must never wait for the log.
type Health struct {
	bound    time.Duration // of M6
	members  *Members
	standing atomic.Pointer[replica.Standing]

	mu    sync.Mutex                    // held for moments
	heard map[ballot.NodeID]heardHealth // newest, of members only
}

// heardHealth is a peer's report of its health, with the clock reading at which it came.
type heardHealth struct {
	replica.Health
	at    time.Duration
	taken bool // by the log
}

// NewHealth returns the Health of a node among members. bound is M6's: for so long the log may hang.
func NewHealth(members *Members, bound time.Duration) *Health {
	h := &Health{bound: bound, members: members, heard: map[ballot.NodeID]heardHealth{}}
	h.standing.Store(&replica.Standing{})
	return h
}

// Hear takes what a peer says of itself.
func (h *Health) Hear(now time.Duration, from ballot.NodeID, said replica.Health) {
	if !slices.Contains(h.members.Others(), from) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard[from] = heardHealth{Health: said, at: now}
}

// Standing returns this node's own standing, as of the log's last tick.
func (h *Health) Standing() replica.Standing { return *h.standing.Load() }

// appendReports appends the reports that have come since it was last called to events. It forgets the reports of former
// members.
func (h *Health) appendReports(events []replica.Event) []replica.Event {
	others := h.members.Others()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range others {
		if said, ok := h.heard[p]; ok && !said.taken {
			events = append(events, replica.Event{Health: &said.Health, From: p})
			said.taken = true
			h.heard[p] = said
		}
	}
	if len(h.heard) > len(others) {
		maps.DeleteFunc(h.heard, func(p ballot.NodeID, _ heardHealth) bool { return !slices.Contains(others, p) })
	}
	return events
}

// able reports whether another voter has reported within the last quarter of the bound that it is able or fit, in a
// report that the log has not taken. Only a voter could be master instead of this node (M6).
func (h *Health) able(now time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.members.Load().Voters().IDs() {
		if said, ok := h.heard[p]; ok && !said.taken && (said.Able || said.Fit) && now-said.at < h.bound/4 {
			return true
		}
	}
	return false
}

// hung implements M6 for a log that hangs in a disk call or for want of a processor. If the log has not ticked for a
// bound, and another voter has reported since that it is able or fit, the holder of the lease in tenure lets go. The
// log is not asked to step down: it acts by Mastership, and finds no tenure there when it goes on. Further attempts are
// barred until it ticks.
func (h *Health) hung(now time.Duration, tenure uint64) elector.LetGo {
	s := h.standing.Load()
	if tenure == 0 || s.At == 0 || now-s.At < h.bound {
		return elector.LetGo{}
	}
	if !h.able(now) {
		return elector.LetGo{}
	}
	barred := *s
	barred.Able, barred.Barred = false, true
	h.standing.CompareAndSwap(s, &barred)
	return elector.LetGo{Tenure: tenure, Reason: elector.ReasonHung, For: now - s.At}
}
