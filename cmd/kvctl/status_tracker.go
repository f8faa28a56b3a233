package main

import (
	"fmt"
	"time"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

// tracker follows mastership from answer to answer. The zero value has seen no master yet.
type tracker struct {
	cluster string
	epoch   uint64
	master  uint64
	last    time.Time // the last answer of this master as master
}

// failover is a change of mastership.
type failover struct {
	At       time.Time
	From, To uint64
	Epoch    uint64
	// Took is the time from the last answer of the old master to the first one of the new. It exceeds the time without
	// a reachable master by up to two intervals of asking, and is never shorter.
	Took time.Duration
}

// observe takes one node's answer and reports whether it shows a new mastership. Epochs tell old from new: an old
// master that has not noticed its end yet is not a change.
func (t *tracker) observe(s client.Status, at time.Time) (failover, bool) {
	if s.Role != client.RoleMaster {
		return failover{}, false
	}
	if s.Cluster != t.cluster {
		*t = tracker{cluster: s.Cluster}
	}
	switch {
	case s.Epoch < t.epoch:
		return failover{}, false
	case s.Epoch == t.epoch:
		if at.After(t.last) {
			t.last = at
		}
		return failover{}, false
	}
	f := failover{At: at, From: t.master, To: s.Node, Epoch: s.Epoch, Took: at.Sub(t.last)}
	known := t.epoch != 0
	t.epoch, t.master, t.last = s.Epoch, s.Node, at
	return f, known
}

// without returns how long no master has answered; 0 if none was ever seen.
func (t *tracker) without(now time.Time) time.Duration {
	if t.epoch == 0 {
		return 0
	}
	return now.Sub(t.last)
}

// String tells who took over from whom and how long it took.
func (f failover) String() string {
	from := fmt.Sprintf("node %d -> node %d", f.From, f.To)
	if f.From == f.To {
		from = fmt.Sprintf("node %d again", f.To)
	}
	return fmt.Sprintf("FAILOVER %s, epoch %d, took %s as seen from here", from, f.Epoch, output.Duration(f.Took))
}
