package server

import (
	"time"

	"tenure/kv"
	"tenure/server/replica"
)

// Remaining is about how long the time that runs on name has; false if none is known to run. The log part's timers
// belong to whoever steps it, so this is a round of it.
func (n *Node) Remaining(kind kv.TimedKind, name string) (left time.Duration, runs bool) {
	type answer struct {
		left time.Duration
		runs bool
	}
	told := make(chan answer, 1) // has space: a round that comes when the node has ended waits for nobody
	n.onLogLoop(func(part *replica.Log) {
		left, runs := part.Remaining(kind, name, n.clock.Now())
		told <- answer{left, runs}
	})
	select {
	case a := <-told:
		return a.left, a.runs
	default:
		return 0, false // the node has ended
	}
}
