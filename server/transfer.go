package server

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica"
	"tenure/server/web"
	"tenure/server/wire"
)

// maxTransfers bounds the transfers that wait at one node.
const maxTransfers = 16

// transfers holds the transfers that have reached this node and were passed on to the master over the log connection.
type transfers struct {
	mu      sync.Mutex
	waiting map[uint64]chan string
}

// Transfer asks the master to hand over, to node `to` if it is not 0. It waits for a master to be known.
func (n *Node) Transfer(ctx context.Context, to ballot.NodeID) error {
	for {
		if p := n.gate.load(); p.Held(n.clock.Now()) && p.Ready == p.Tenure {
			return n.transferHere(to, replica.CauseHandedOver)
		}
		if master := n.logView.Load().master; master != 0 && master != n.self.Node {
			return n.passTransfer(ctx, master, to)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: no master is known; try again", web.ErrNotApplied)
		case <-n.ended:
			return fmt.Errorf("%w: this node is stopping; ask another", web.ErrNotApplied)
		case <-time.After(replica.TickEvery):
		}
	}
}

// passTransfer hands the transfer on to the master and waits for its word.
func (n *Node) passTransfer(ctx context.Context, master, to ballot.NodeID) error {
	id, answer, err := n.transfers.open(n.nextID.Add(1))
	if err != nil {
		return err
	}
	defer n.transfers.close(id)
	n.transport.SendLog(master, wire.EncodeTransfer(wire.Transfer{ID: id, To: uint64(to)}))
	select {
	case problem := <-answer:
		if problem != "" {
			return fmt.Errorf("%w: %s", web.ErrNotApplied, strings.TrimPrefix(problem, web.ErrNotApplied.Error()+": "))
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the master did not answer in time", web.ErrUnknown)
	}
}

func (t *transfers) open(id uint64) (uint64, chan string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) >= maxTransfers {
		return 0, nil, fmt.Errorf("%w: %d transfers are waiting already", web.ErrNotApplied, len(t.waiting))
	}
	if t.waiting == nil {
		t.waiting = map[uint64]chan string{}
	}
	answer := make(chan string, 1)
	t.waiting[id] = answer
	return id, answer, nil
}

func (t *transfers) close(id uint64) {
	t.mu.Lock()
	delete(t.waiting, id)
	t.mu.Unlock()
}

func (t *transfers) answered(a wire.Transferred) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.waiting[a.ID]; c != nil {
		c <- a.Problem
		delete(t.waiting, a.ID)
	}
}

// takeTransfer carries out a transfer that a follower passed on. It runs apart from the connection's reader, which
// must not wait.
func (n *Node) takeTransfer(from ballot.NodeID, a wire.Transfer) {
	if !n.transferring.CompareAndSwap(false, true) {
		return // the asking side's wait ends by itself
	}
	go func() {
		defer n.transferring.Store(false)
		answer := wire.Transferred{ID: a.ID}
		if err := n.transferHere(ballot.NodeID(a.To), replica.CauseHandedOver); err != nil {
			answer.Problem = err.Error()
		}
		n.transport.SendLog(from, wire.EncodeTransferred(answer))
	}()
}

// transferHere hands over from this node.
func (n *Node) transferHere(to ballot.NodeID, why replica.Cause) error {
	v, p := n.logView.Load(), n.gate.load()
	if !p.Held(n.clock.Now()) || p.Ready != p.Tenure {
		return fmt.Errorf("%w: node %d is not the master", web.ErrNotApplied, n.self.Node)
	}
	if to == n.self.Node {
		return nil
	}
	if to != 0 {
		if err := n.canTake(to, v); err != nil {
			return err
		}
	}
	n.handOver(to, why)
	return nil
}

// canTake tells whether another member is there and caught up, so that it can serve at once.
func (n *Node) canTake(to ballot.NodeID, v *logView) error {
	for _, p := range n.peerStatus(v, n.clock.Now()) {
		if p.Node != uint64(to) {
			continue
		}
		if !p.Connected {
			return fmt.Errorf("%w: node %d is not connected to the master", web.ErrNotApplied, to)
		}
		if p.Chosen+transferLag < v.applied {
			return fmt.Errorf("%w: node %d is not caught up: it has applied slot %d, the master %d",
				web.ErrNotApplied, to, p.Chosen, v.applied)
		}
		return nil
	}
	return fmt.Errorf("%w: node %d is not a member", web.ErrNotApplied, to)
}

// transferLag is how many slots behind a node may be and still count as caught up: heartbeats are a few ticks old.
const transferLag = 1000
