package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/lease"
	"tenure/server/replica"
	"tenure/server/transport"
	"tenure/server/watch"
	"tenure/server/wire"
	"tenure/storage"
)

// Node is one running node, from the time it is a member of a formed cluster.
type Node struct {
	cfg        Config
	self       ballot.Incarnation
	membership ident.Membership
	peers      []ballot.NodeID
	addresses  map[ballot.NodeID]string // of peers, as hints
	startedAt  time.Duration            // for the uptime only: the run before may live until the data directory is locked

	clock     *clock.Clock
	store     *storage.Store
	transport *transport.Transport
	metrics   *metrics
	log       zerolog.Logger

	gate       *gate
	elector    *replica.Elector // the lease loop's
	quarantine lease.Quarantine
	// quarantineBegan is the one reading from which A4 counts, the acceptors' silence and the second write alike.
	quarantineBegan time.Duration
	leaseIn         chan leaseEvent
	guard           guard
	tenures         tenureChanges
	noted           []uint64 // the lease loop's: what the guardian is told
	loop            *logLoop // the log loop's
	inbox           *inbox[event]
	named           *namedLoop
	leaseKey        []byte // of the hashes of lease names

	stateMu sync.RWMutex // guards state against the log loop's Apply, Freeze and CheckpointDone
	state   *kv.State
	counted *keyCount
	hub     *watch.Hub // is told of changes while stateMu is held for writing

	nudged chan struct{} // asks the log loop for a round; space for one

	persister    *persister
	unmeasured   int             // bytes committed since the disk was last measured; the persister's
	checkpointIn chan *kv.Frozen // space for one: the log part has one checkpoint out at a time

	nextID          atomic.Uint64
	leaseView       atomic.Pointer[leaseView]
	logView         atomic.Pointer[logView]
	standing        atomic.Pointer[replica.Standing]
	healths         healths
	space           atomic.Uint32 // a replica.Space
	stateDBBytes    atomic.Int64  // of state.db, as last measured
	checkpointBytes atomic.Int64  // what the disk has space for
	stopping        atomic.Bool
	transfers       transfers
	transferring    atomic.Bool

	failOnce sync.Once
	failed   chan error    // space for one: what ends the process
	ended    chan struct{} // closed when the loops have stopped
}

// fail ends the node: nothing may be served or voted from damaged state or after a failed sync.
func (n *Node) fail(err error) {
	n.failOnce.Do(func() { n.failed <- err })
}

// nudge asks for a round of the log part, without stepping it here: for goroutines that must not be held up.
func (n *Node) nudge() {
	select {
	case n.nudged <- struct{}{}:
	default:
	}
}

// Connected and Disconnected follow the connections to the peers. Only the log connection matters to the log part.
func (n *Node) Connected(peer ballot.NodeID, kind wire.Kind) {
	if kind == wire.KindLog {
		n.inbox.put(event{Event: replica.Event{Up: peer}})
	}
}

// Disconnected is the end of a connection to a peer.
func (n *Node) Disconnected(peer ballot.NodeID, kind wire.Kind) {
	if kind == wire.KindLog {
		n.inbox.put(event{Event: replica.Event{Down: peer}})
	}
}

// readyChanged logs that this node's mastership began or ended.
func (n *Node) readyChanged(tenure, epoch uint64) {
	if tenure != 0 {
		n.log.Info().Uint64("epoch", epoch).Msg("this node is the master")
		return
	}
	n.log.Info().Msg("this node is not the master any more")
}
