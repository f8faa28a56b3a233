package runner

import "sync"

// Bounds of the inbox. Peers wait when it is full (their connection then pushes back); clients are refused.
const (
	maxInboxPeer = 4096
	// MaxClientRequests is how many requests of clients may be in the inbox of the log, and in that of named leases.
	MaxClientRequests = 16384
)

// inbox gathers the events of a pure part: the log or named leases. One goroutine at a time steps the part: the one
// that puts an event while the part is idle. Most events come one at a time, and then no other goroutine has to be
// woken.
type inbox[E any] struct {
	// drain steps the part until release says that nothing is left. It is called without the lock by the one
	// goroutine that may step. Set before the first event; without it events only gather.
	drain func()

	mu      sync.Mutex
	changed sync.Cond // there is space again, or nobody steps any more
	events  []E
	spare   []E
	peers   int // events of peers in it
	clients int
	busy    bool // somebody steps the part
	closed  bool
}

func newInbox[E any]() *inbox[E] {
	b := &inbox[E]{}
	b.changed.L = &b.mu
	return b
}

// put adds an event of this node's own, which is bounded by what the log part has handed out.
func (b *inbox[E]) put(e E) {
	b.mu.Lock()
	b.add(e)
	b.step()
}

// leave adds an event for the next round, like put, but never steps the part.
func (b *inbox[E]) leave(e E) {
	b.mu.Lock()
	b.add(e)
	b.mu.Unlock()
}

// putPeer adds a message of a peer and waits while too many are there. If more tells that another one comes at once,
// the round waits for that.
func (b *inbox[E]) putPeer(e E, more bool) {
	b.mu.Lock()
	for b.peers >= maxInboxPeer && !b.closed {
		b.changed.Wait()
	}
	b.peers++
	b.add(e)
	if more && b.peers < maxInboxPeer/2 {
		b.mu.Unlock()
		return
	}
	b.step()
}

// putClient adds a client's request. It was not taken if the error is ErrOverloaded or ErrClosed.
func (b *inbox[E]) putClient(e E) error {
	b.mu.Lock()
	var err error
	switch {
	case b.closed:
		err = ErrClosed
	case b.clients >= MaxClientRequests:
		err = ErrOverloaded
	}
	if err != nil {
		b.mu.Unlock()
		return err
	}
	b.clients++
	b.add(e)
	b.step()
	return nil
}

func (b *inbox[E]) add(e E) {
	if !b.closed {
		b.events = append(b.events, e)
	}
}

// step makes the caller the one who steps, unless somebody does already: that one sees the new event before it ends.
// The caller holds the lock, and loses it.
func (b *inbox[E]) step() {
	mine := !b.busy && b.drain != nil && !b.closed
	b.busy = b.busy || mine
	b.mu.Unlock()
	if mine {
		b.drain()
	}
}

// popAll takes everything out, and returns it. The slice is the caller's until the next popAll.
func (b *inbox[E]) popAll() []E {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.events
	b.events, b.spare = b.spare[:0], out
	b.peers, b.clients = 0, 0
	b.changed.Broadcast()
	return out
}

// release ends the caller's turn if nothing waits, and tells whether it did.
func (b *inbox[E]) release() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.events) > 0 && !b.closed {
		return false
	}
	b.busy = false
	b.changed.Broadcast()
	return true
}

// handOn gives the caller's turn to the goroutine that waits for it, unless the inbox is closed: then it ends.
func (b *inbox[E]) handOn(to chan<- struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		b.busy = false
		b.changed.Broadcast()
		return
	}
	to <- struct{}{} // has space: there is one turn
}

// end closes the inbox and waits until no goroutine steps. handed may hold a turn that was handed on, and that no
// goroutine takes any more.
func (b *inbox[E]) end(handed <-chan struct{}) {
	b.close()
	select {
	case <-handed:
		b.release()
	default:
	}
	b.quiet()
}

// close lets nobody wait or begin to step any more.
func (b *inbox[E]) close() {
	b.mu.Lock()
	b.closed = true
	b.changed.Broadcast()
	b.mu.Unlock()
}

// quiet waits, after close, until nobody steps.
func (b *inbox[E]) quiet() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.busy {
		b.changed.Wait()
	}
}
