package watch

import (
	"errors"
	"fmt"
	"sync"

	"tenure/kv"
)

// Limits bound what a hub holds.
type Limits struct {
	// Waiting is how many Waiters may be open at a time.
	Waiting int
	// Events and Bytes bound the history: whichever is reached first pushes the oldest out.
	Events int
	Bytes  int64
}

// DefaultWaiting is the default of Limits.Waiting.
const DefaultWaiting = 12_288

// The default and the bounds of a server's history in bytes. Every write is kept there, also if nobody watches.
const (
	DefaultHistoryBytes = 4 << 20
	MinHistoryBytes     = 64 << 10
	MaxHistoryBytes     = 1 << 30
)

// DefaultLimits are the limits of a server by default.
var DefaultLimits = LimitsOf(DefaultHistoryBytes)

// LimitsOf returns the limits of a server with a history of that many bytes and at most one event for each 256 of them.
func LimitsOf(historyBytes int64) Limits {
	return Limits{Waiting: DefaultWaiting, Events: int(historyBytes / 256), Bytes: historyBytes}
}

// Validate reports limits under which nobody could wait or nothing be remembered.
func (l Limits) Validate() error {
	if l.Waiting < 1 || l.Events < 1 || l.Bytes < 1 {
		return fmt.Errorf("watch: limits %+v: each must be at least 1", l)
	}
	return nil
}

// ErrFull says that Limits.Waiting is reached.
var ErrFull = errors.New("too many queries wait on this node (--max-waiting)")

// Hub receives a node's changes as they are applied. The zero Hub is not usable: see New.
type Hub struct {
	limits Limits

	mu       sync.Mutex
	waiting  int // open places
	keys     map[string]*chain
	prefixes map[string]*chain
	lengths  lengths // of the prefixes in the map
	sessions *chain
	woken    []*chain // taken out by the changes of a revision that is not whole yet
	history  history
}

// New returns a hub without history: until Begin, Cursor fails. It panics on invalid limits.
func New(l Limits) *Hub {
	if err := l.Validate(); err != nil {
		panic(err)
	}
	return &Hub{limits: l, keys: map[string]*chain{}, prefixes: map[string]*chain{}}
}

// Begin starts the history anew behind revision, with every later change. It drops the remembered changes, so existing
// cursors are lost, and wakes all waiters to read again.
func (h *Hub) Begin(revision uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.history.begin(revision)
	for _, c := range h.keys {
		h.wake(c)
	}
	for _, c := range h.prefixes {
		h.wake(c)
	}
	h.wake(h.sessions)
	h.signal()
}

// Changed remembers c, and wakes those who wait for it once its revision is whole. It is an Observer's Changed:
// revisions do not fall, and each ends with a change that is Last.
func (h *Hub) Changed(c kv.Changed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.history.add(c, h.limits)
	if h.waiting > 0 {
		h.match(&c)
	}
	if c.Last && len(h.woken) > 0 {
		h.signal()
	}
}

func (h *Hub) match(c *kv.Changed) {
	if c.Session != "" {
		h.wake(h.sessions)
		h.wake(h.prefixes[""])
		return
	}
	h.wake(h.keys[c.Key])
	for n := range h.lengths.upTo(len(c.Key)) {
		h.wake(h.prefixes[c.Key[:n]])
	}
}

// chainOf returns the chain for k and name.
func (h *Hub) chainOf(k kind, name string) *chain {
	switch k {
	case onKey:
		if h.keys[name] == nil {
			h.keys[name] = &chain{kind: k, name: name}
		}
		return h.keys[name]
	case onPrefix:
		if h.prefixes[name] == nil {
			h.prefixes[name] = &chain{kind: k, name: name}
			h.lengths.add(len(name))
		}
		return h.prefixes[name]
	}
	if h.sessions == nil {
		h.sessions = &chain{kind: k}
	}
	return h.sessions
}

func (h *Hub) takeOut(c *chain) {
	switch c.kind {
	case onKey:
		delete(h.keys, c.name)
	case onPrefix:
		delete(h.prefixes, c.name)
		h.lengths.drop(len(c.name))
	default:
		h.sessions = nil
	}
}

// wake takes c out, to be signalled with the end of the revision. c may be nil.
func (h *Hub) wake(c *chain) {
	if c == nil {
		return
	}
	h.takeOut(c)
	c.woken = true
	h.woken = append(h.woken, c)
}

func (h *Hub) signal() {
	for i, c := range h.woken {
		c.signalAll()
		h.woken[i] = nil
	}
	h.woken = h.woken[:0]
}

// Stats is what a hub holds.
type Stats struct {
	Waiting int
	Events  int
	Bytes   int64  // of the events, about
	Oldest  uint64 // every change after this revision is in the history
}

// Stats is for metrics.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Stats{Waiting: h.waiting, Events: h.history.len(), Bytes: h.history.bytes, Oldest: h.history.base}
}
