package runner

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/storage"
)

// persister commits what the log hands it: everything that waits, as one record of the journal. While one commit syncs
// the next one gathers, so group commit needs no timer.
type persister struct {
	store   *storage.Store
	disk    *Disk
	inbox   *inbox[logEvent] // is told what is durable
	nudged  chan<- struct{}  // asks for a round
	seconds prometheus.Observer

	mu      sync.Mutex
	waiting []multipaxos.Persist
	wake    chan struct{}
}

func newPersister(store *storage.Store, disk *Disk, in *inbox[logEvent], nudged chan<- struct{},
	seconds prometheus.Observer) *persister {
	return &persister{store: store, disk: disk, inbox: in, nudged: nudged, seconds: seconds, wake: make(chan struct{}, 1)}
}

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

func (p *persister) drain() []multipaxos.Persist {
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

// run commits until stop is closed. An error inside a commit ends the process: after a failed fsync the content of the
// disk is unknown, so the commit is never retried.
func (p *persister) run(stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-p.wake:
		}
		ps := p.drain()
		if len(ps) == 0 {
			continue
		}
		begin := time.Now()
		if err := p.store.Commit(ps); err != nil {
			return err
		}
		p.seconds.Observe(time.Since(begin).Seconds())
		p.disk.committed(ps)
		p.report(ps[len(ps)-1].Seq)
	}
}

// report tells the log that everything up to seq is durable. If the disk has something else to do, the round is left to
// somebody else.
func (p *persister) report(seq uint64) {
	e := logEvent{Event: replica.Event{Persisted: seq}}
	if p.idle() {
		p.inbox.put(e)
		return
	}
	p.inbox.leave(e)
	select {
	case p.nudged <- struct{}{}:
	default:
	}
}
