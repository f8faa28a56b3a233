package watch

import (
	"errors"
	"strings"

	"tenure/kv"
)

// scanEvents is how many changes a cursor passes before it lets others have the lock.
const scanEvents = 1024

var (
	// ErrLost says that the history no longer has the next changes of a cursor.
	ErrLost = errors.New("the history does not reach back so far")
	// ErrNotBegun says that this node does not apply changes yet.
	ErrNotBegun = errors.New("this node has no history yet")
)

// Event is a change under the prefix of a cursor.
type Event struct {
	kv.Changed
	// Whole says that this is the last event of its revision: a reader may resume after it.
	Whole bool
}

// Cursor reads changes under a prefix. With the empty prefix it reads those of sessions too.
type Cursor struct {
	hub    *Hub
	prefix string
	after  uint64 // changes up to this revision are not told
	number uint64 // of the next change to look at
	held   Event  // told once it is known whether it is Whole
	holds  bool
	passed uint64
}

// Cursor returns a cursor that begins behind revision after, which may be above the newest applied revision. Its error
// is ErrLost or ErrNotBegun.
func (h *Hub) Cursor(prefix string, after uint64) (*Cursor, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.history.begun:
		return nil, ErrNotBegun
	case after < h.history.base:
		return nil, ErrLost
	}
	return &Cursor{hub: h, prefix: prefix, after: after, number: h.history.after(after), passed: after}, nil
}

// Newest returns the newest revision that has been applied here as a whole. Its error is ErrNotBegun.
func (h *Hub) Newest() (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.history.begun {
		return 0, ErrNotBegun
	}
	return h.history.last, nil
}

// Passed returns the highest revision up to which every change was returned, or lies outside the prefix.
func (c *Cursor) Passed() uint64 { return c.passed }

// Next appends the next events to events, up to its capacity. more says that it stopped before the end of the history.
// Its error is ErrLost, and then the cursor is unusable.
func (c *Cursor) Next(events []Event) (_ []Event, more bool, err error) {
	h := &c.hub.history
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	if c.number < h.first {
		return events, false, ErrLost
	}
	// A change can push out one that was held, so there must be space for two.
	for end := min(h.next, c.number+scanEvents); c.number < end && len(events)+1 < cap(events); c.number++ {
		events = c.pass(h.at(c.number), events)
	}
	return events, c.number < h.next, nil
}

func (c *Cursor) pass(e *kv.Changed, events []Event) []Event {
	if e.Revision <= c.after {
		return events
	}
	if c.matches(e) {
		if c.holds {
			events = append(events, c.held)
		}
		c.held, c.holds = Event{Changed: *e}, true
	}
	if !e.Last {
		return events
	}
	if c.holds {
		c.held.Whole = true
		events = append(events, c.held)
		c.held, c.holds = Event{}, false
	}
	c.passed = e.Revision
	return events
}

func (c *Cursor) matches(e *kv.Changed) bool {
	if e.Session != "" {
		return c.prefix == ""
	}
	return strings.HasPrefix(e.Key, c.prefix)
}
