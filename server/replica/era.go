package replica

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
)

// EraAsk has the log allot eras of fencing tokens to one run of a node (N3), however long that takes.
type EraAsk struct {
	Self    ballot.Incarnation
	Keys    int        // that the run has asked under; see EraKey
	command kv.Command // without a verdict yet
}

// EraTimeout is how long the log is waited for, and EraRetry after which time it is asked again.
const (
	EraTimeout = 5 * time.Second
	EraRetry   = 100 * time.Millisecond
)

// Next returns the command to propose at a node that has applied revision. Without a verdict it is the same again.
func (a *EraAsk) Next(revision uint64) kv.Command {
	if a.command.IdemKey == "" {
		a.Keys++
		a.command = kv.Command{Op: kv.OpNewEra, IdemKey: EraKey(a.Self, a.Keys), Base: revision}
	}
	return a.command
}

// Took takes the verdict of the log on the command, and returns the era, 0 without one: then ask again. The base may be
// too old, if this node has not caught up with a cluster that was made anew.
func (a *EraAsk) Took(r *kv.Result) uint32 {
	a.command = kv.Command{}
	if r.Code != kv.CodeDone {
		return 0
	}
	return uint32(r.Count)
}

// EraKey returns the number-th idempotency key under which a run asks. No other run has it, so an era is the result of
// the run's own entry.
func EraKey(run ballot.Incarnation, number int) string {
	return fmt.Sprintf("tenure era %d.%d.%016x.%d", run.Node, run.Restart, run.Nonce, number)
}
