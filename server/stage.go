package server

import (
	"sync"
	"time"
)

// Stage is how far a node has come since its process was started, for whoever supervises the process.
type Stage struct {
	// Ready: the node serves clients and knows a master, or it waits for nodes that were never started yet. In a new
	// cluster somebody starts one node after the other, and may wait for each.
	Ready bool
	Text  string // what the node waits for or is, in words
	Moves uint64 // rises while a node that is not Ready gets on: it opens its data directory, or catches up
}

// lookAtStage is how often a node looks how far it has come until it is ready, and lookWhenReady how often from then
// on.
const (
	lookAtStage   = 50 * time.Millisecond
	lookWhenReady = time.Second
)

// tellStages tells of the node's Stage until the returned function is called.
func (n *node) tellStages() (end func()) {
	if n.cfg.Told == nil {
		return func() {}
	}
	over := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		look, every := time.NewTimer(0), lookAtStage
		defer look.Stop()
		var told Stage
		var at time.Time
		for {
			select {
			case <-look.C:
			case <-over:
				return
			}
			s, now := n.stage(told.Moves), time.Now()
			if s.Ready != told.Ready || s != told && now.Sub(at) >= time.Second {
				n.cfg.Told(s)
				told, at = s, now
			}
			if s.Ready {
				every = lookWhenReady
			}
			look.Reset(every)
		}
	})
	return func() {
		close(over)
		telling.Wait()
	}
}

// stage returns how far the node is, which had moved so far before.
func (n *node) stage(moved uint64) Stage {
	s := n.front.Status()
	switch err := n.front.Ready(); {
	case err == nil:
		return Stage{Ready: true, Text: s.Role}
	case s.Problem == waitsForMembers:
		return Stage{Ready: true, Text: s.Problem}
	case s.Problem == waitsForStore:
		return Stage{Text: s.Problem, Moves: moved + 1}
	case s.Snapshot != nil:
		return Stage{Text: "this node receives a copy of the state", Moves: max(moved, s.Applied+uint64(s.Snapshot.Bytes))}
	default:
		return Stage{Text: err.Error(), Moves: max(moved, s.Applied)}
	}
}
