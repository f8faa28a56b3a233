package server

import (
	"sync"

	"tenure/internal/ballot"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// event is one input of the log loop; exactly one field group is set.
type event struct {
	log       *multipaxos.Message
	peer      *replica.Message
	write     *pendingWrite
	read      *pendingRead
	persisted uint64
	folded    bool
	up, down  ballot.NodeID
	call      func() // runs on the log loop
}

// Bounds of the inbox. Peers wait when it is full (their connection then pushes back); clients are refused.
const (
	maxInboxPeer   = 4096
	maxInboxClient = 16384
)

// inbox gathers the inputs of the log loop. Many put, one takes all.
type inbox struct {
	mu      sync.Mutex
	room    sync.Cond
	events  []event
	spare   []event
	peers   int // events of peers in it
	clients int
	closed  bool
	wake    chan struct{}
}

func newInbox() *inbox {
	b := &inbox{wake: make(chan struct{}, 1)}
	b.room.L = &b.mu
	return b
}

// put adds an event of this node's own, which is bounded by what the loop has handed out.
func (b *inbox) put(e event) {
	b.mu.Lock()
	b.events = append(b.events, e)
	b.mu.Unlock()
	b.signal()
}

// putPeer adds a message of a peer and waits while too many are there.
func (b *inbox) putPeer(e event) {
	b.mu.Lock()
	for b.peers >= maxInboxPeer && !b.closed {
		b.room.Wait()
	}
	b.peers++
	b.events = append(b.events, e)
	b.mu.Unlock()
	b.signal()
}

// putClient adds a client's request, or says that too many wait.
func (b *inbox) putClient(e event) bool {
	b.mu.Lock()
	if b.clients >= maxInboxClient || b.closed {
		b.mu.Unlock()
		return false
	}
	b.clients++
	b.events = append(b.events, e)
	b.mu.Unlock()
	b.signal()
	return true
}

// take returns everything that is there. The slice is the caller's until the next take.
func (b *inbox) take() []event {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.events
	b.events, b.spare = b.spare[:0], out
	b.peers, b.clients = 0, 0
	b.room.Broadcast()
	return out
}

// close lets nobody wait any more.
func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	b.room.Broadcast()
	b.mu.Unlock()
}

func (b *inbox) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
