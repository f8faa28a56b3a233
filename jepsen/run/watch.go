package run

import (
	"context"
	"sync"
	"time"

	"tenure/jepsen/cluster"
	"tenure/jepsen/history"
)

const watchInterval = 100 * time.Millisecond

// stretch is a time in which a node's state did not change.
type stretch struct {
	Node     int
	State    string // silent, up, master
	Epoch    uint64 // of a master
	From, To time.Duration
}

// watcher asks every node for its state until it is stopped.
type watcher struct {
	rec *history.Recorder
	mu  sync.Mutex
	all map[int][]stretch
}

// watch starts a watcher and returns a function that stops it.
func watch(rec *history.Recorder, c *cluster.Cluster) (*watcher, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{rec: rec, all: map[int][]stretch{}}
	var wg sync.WaitGroup
	for _, n := range c.Places() {
		wg.Go(func() {
			for ctx.Err() == nil {
				begin := rec.Now()
				w.note(n.ID, begin, w.look(ctx, c, n))
				cluster.Pause(ctx, watchInterval)
			}
		})
	}
	return w, func() { cancel(); wg.Wait() }
}

func (w *watcher) look(ctx context.Context, c *cluster.Cluster, n *cluster.Node) stretch {
	s, err := c.Status(ctx, n)
	switch {
	case err != nil:
		return stretch{State: "silent"}
	case s.Lease.Held && s.Role == "master":
		return stretch{State: "master", Epoch: s.Epoch}
	}
	return stretch{State: "up"}
}

func (w *watcher) note(id int, from time.Duration, s stretch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.all[id]
	s.Node, s.From, s.To = id, from, w.rec.Now()
	if last := len(list) - 1; last >= 0 {
		list[last].To = from // nothing else is known of the time between
		if list[last].State == s.State && list[last].Epoch == s.Epoch {
			list[last].To = s.To
			return
		}
	}
	w.all[id] = append(list, s)
}

// masters returns how often the mastership changed: each new epoch, even of the same node.
func (w *watcher) masters() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	epochs := map[uint64]bool{}
	for _, list := range w.all {
		for _, s := range list {
			if s.State == "master" {
				epochs[s.Epoch] = true
			}
		}
	}
	return max(0, len(epochs)-1)
}

func (w *watcher) stretches(id int) []stretch {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[id]
}
