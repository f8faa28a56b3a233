package main

import (
	"fmt"
	"time"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

// tracker follows mastership from answer to answer. Its zero value has seen nothing.
type tracker struct {
	cluster string
	epoch   uint64
	master  uint64
	seen    time.Time // last answer of this master as master
}

// failover is a change of mastership.
type failover struct {
	At       time.Time
	From, To uint64
	Epoch    uint64
	// Took is from the last answer of the old master to the first one of the new, so it is too long by up to two
	// rounds of asking and never shorter than the time without a master that can be reached from here.
	Took time.Duration
}

// observe takes one node's answer and tells whether it shows a new mastership. Epochs tell old from new: a master
// that has not noticed its end yet is no news.
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
		if at.After(t.seen) {
			t.seen = at
		}
		return failover{}, false
	}
	f := failover{At: at, From: t.master, To: s.Node, Epoch: s.Epoch, Took: at.Sub(t.seen)}
	known := t.epoch != 0
	t.epoch, t.master, t.seen = s.Epoch, s.Node, at
	return f, known
}

// without is how long no master has answered; 0 if none was ever seen.
func (t *tracker) without(now time.Time) time.Duration {
	if t.epoch == 0 {
		return 0
	}
	return now.Sub(t.seen)
}

// String says who took over from whom and how long it took.
func (f failover) String() string {
	from := fmt.Sprintf("node %d -> node %d", f.From, f.To)
	if f.From == f.To {
		from = fmt.Sprintf("node %d again", f.To)
	}
	return fmt.Sprintf("FAILOVER %s, epoch %d, took %s as seen from here", from, f.Epoch, output.Duration(f.Took))
}
