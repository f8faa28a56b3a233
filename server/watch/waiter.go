package watch

// Waiter is a place among those who wait: for changes of one key, of all keys under one prefix, or of the sessions. It
// belongs to one goroutine, which must Close it.
//
// A wait is: Arm, then read, then wait on C. A signal disarms, so that a flood of changes costs each waiter one signal
// and not one for each change.
type Waiter struct {
	hub        *Hub
	kind       kind
	name       string
	chain      *chain // nil: not armed
	prev, next *Waiter
	signal     chan struct{}
}

type kind uint8

const (
	onKey kind = iota
	onPrefix
	onSessions
)

// chain is the armed waiters of one kind and name.
type chain struct {
	kind  kind
	name  string
	first *Waiter
	woken bool // out of the maps: the next to arm begin another chain
}

// Key returns a Waiter for changes of key. Its error is ErrFull.
func (h *Hub) Key(key string) (*Waiter, error) { return h.open(onKey, key) }

// Prefix returns a Waiter for changes of every key that starts with prefix. The prefix may be empty, but not longer
// than a key. With the empty prefix changes of sessions count too. Its error is ErrFull.
func (h *Hub) Prefix(prefix string) (*Waiter, error) { return h.open(onPrefix, prefix) }

// Sessions returns a Waiter for the creation and the end of sessions. Its error is ErrFull.
func (h *Hub) Sessions() (*Waiter, error) { return h.open(onSessions, "") }

func (h *Hub) open(k kind, name string) (*Waiter, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting >= h.limits.Waiting {
		return nil, ErrFull
	}
	h.waiting++
	return &Waiter{hub: h, kind: k, name: name, signal: make(chan struct{}, 1)}, nil
}

// C has an element once something changed since Arm. However much changed, it is one.
func (w *Waiter) C() <-chan struct{} { return w.signal }

// Arm registers w for what changes from now on. What is read after it has every earlier change.
func (w *Waiter) Arm() {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-w.signal: // of a change that the next read sees
	default:
	}
	if w.chain != nil && !w.chain.woken {
		return
	}
	w.leave()
	h.chainOf(w.kind, w.name).join(w)
}

// Close gives the place up. Doing it again does nothing.
func (w *Waiter) Close() {
	h := w.hub
	if h == nil {
		return
	}
	w.hub = nil
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting--
	c := w.chain
	w.leave()
	if c != nil && c.first == nil && !c.woken {
		h.takeOut(c)
	}
}

func (c *chain) join(w *Waiter) {
	w.chain, w.prev, w.next = c, nil, c.first
	if c.first != nil {
		c.first.prev = w
	}
	c.first = w
}

func (w *Waiter) leave() {
	if w.chain == nil {
		return
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		w.chain.first = w.next
	}
	w.chain, w.prev, w.next = nil, nil, nil
}

// signalAll ends the waits of a chain that was taken out.
func (c *chain) signalAll() {
	for w := c.first; w != nil; w = c.first {
		w.leave()
		select {
		case w.signal <- struct{}{}:
		default:
		}
	}
}
