package runner

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenure/kv"
	"tenure/server/replica"
	"tenure/storage"
)

// checkpointer writes frozen changes to the state database in the background.
type checkpointer struct {
	store   *storage.Store
	disk    *Disk
	inbox   *inbox[logEvent] // is told of the end
	seconds prometheus.Observer
	frozen  chan *kv.Frozen // capacity 1: the log part has one checkpoint out at a time
}

func newCheckpointer(store *storage.Store, disk *Disk, in *inbox[logEvent], seconds prometheus.Observer) *checkpointer {
	return &checkpointer{store: store, disk: disk, inbox: in, seconds: seconds, frozen: make(chan *kv.Frozen, 1)}
}

// run makes checkpoints until stop is closed.
func (c *checkpointer) run(stop <-chan struct{}) error {
	for {
		var f *kv.Frozen
		select {
		case <-stop:
			return nil
		case f = <-c.frozen:
		}
		begin := time.Now()
		if err := c.store.Checkpoint(f.Checkpoint()); err != nil {
			if errors.Is(err, storage.ErrInterrupted) {
				return nil // the log has what was not written, and the next run writes it
			}
			return err
		}
		c.seconds.Observe(time.Since(begin).Seconds())
		_ = c.disk.measure() // an error shows at the next commit
		_, digest := c.store.Digest()
		c.inbox.put(logEvent{Event: replica.Event{Checkpointed: true, Digest: digest}})
	}
}
