package server

import (
	"errors"
	"sync"
	"time"

	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/storage"
)

// persister commits what the log loop hands it: everything that waits, in one transaction. While one commit syncs the
// next one gathers, so group commit needs no timer.
type persister struct {
	mu      sync.Mutex
	waiting []multipaxos.Persist
	wake    chan struct{}
}

func newPersister() *persister { return &persister{wake: make(chan struct{}, 1)} }

// add queues persists in order. What waits is bounded by the windows of the leaders that this node follows.
func (p *persister) add(ps []multipaxos.Persist) {
	p.mu.Lock()
	p.waiting = append(p.waiting, ps...)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *persister) take() []multipaxos.Persist {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.waiting
	p.waiting = nil
	return out
}

func (p *persister) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting) == 0
}

// runPersister commits until stop is closed. An error inside a commit ends the process: after a failed fsync nobody
// knows what is on the disk, so it is never tried again.
func (n *Node) runPersister(stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-n.persister.wake:
		}
		ps := n.persister.take()
		if len(ps) == 0 {
			continue
		}
		begin := time.Now()
		if err := n.store.Commit(ps); err != nil {
			return err
		}
		n.metrics.commitSeconds.Observe(time.Since(begin).Seconds())
		n.committed(ps)
		e := event{Event: replica.Event{Persisted: ps[len(ps)-1].Seq}}
		if n.persister.idle() {
			n.inbox.put(e)
			continue
		}
		n.inbox.leave(e) // the disk goes on
		n.nudge()
	}
}

// runCheckpointer merges frozen changes into the state database in the background.
func (n *Node) runCheckpointer(stop <-chan struct{}) error {
	for {
		var f *kv.Frozen
		select {
		case <-stop:
			return nil
		case f = <-n.checkpointIn:
		}
		begin := time.Now()
		if err := n.store.Checkpoint(f.Checkpoint()); err != nil {
			if errors.Is(err, storage.ErrInterrupted) {
				return nil // the log has what was not checkpointed, and the next start makes the rest
			}
			return err
		}
		n.metrics.checkpointSeconds.Observe(time.Since(begin).Seconds())
		if n.store.Refresh() == nil {
			n.takeUsage()
		}
		n.inbox.put(event{Event: replica.Event{Checkpointed: true}})
	}
}
