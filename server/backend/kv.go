package backend

import (
	"errors"
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/kv"
	"tenure/server/replica"
	"tenure/server/runner"
	"tenure/server/web"
)

// KVConfig is what a KV is made of. All fields are required.
type KVConfig struct {
	Self       ballot.NodeID
	Clock      *clock.Clock
	State      *runner.State
	Log        *runner.Log
	Mastership *runner.Mastership
	Lifecycle  *runner.Lifecycle
}

// KV writes and reads keys and sessions.
type KV struct{ cfg KVConfig }

// NewKV returns a KV.
func NewKV(c KVConfig) *KV { return &KV{cfg: c} }

// Write has the command applied through the master, wherever it is.
func (b *KV) Write(timeout time.Duration, c kv.Command) (kv.Result, error) {
	r, err := b.cfg.Log.Write(timeout, c)
	switch {
	case errors.Is(err, runner.ErrOverloaded):
		return kv.Result{}, overloaded(err)
	case err != nil:
		return kv.Result{}, fmt.Errorf("%w: %w; the write may have been applied, or may still be", web.ErrUnknown, err)
	}
	return r.Result, b.outcome(r)
}

// overloaded is what a client is told of runner.ErrOverloaded.
func overloaded(err error) error {
	return fmt.Errorf("%w: %w; try again later", web.ErrOverloaded, err)
}

// outcome returns what the client is told of r.
func (b *KV) outcome(r replica.Reply) error {
	switch r.Outcome {
	case replica.Done:
		return nil
	case replica.Refused:
		if r.Reason == replica.NoSpace {
			return fmt.Errorf("%w: %s; delete keys or make space there, then try again", web.ErrNoSpace, b.noSpace())
		}
		if r.Reason == replica.Overloaded {
			return fmt.Errorf("%w: %s; try again later", web.ErrOverloaded, r.Reason)
		}
		return fmt.Errorf("%w: %s; try again", web.ErrNotApplied, r.Reason)
	}
	return fmt.Errorf("%w: %s; the write may have been applied, or may still be", web.ErrUnknown, r.Reason)
}

// noSpace returns why a write was refused for want of space.
func (b *KV) noSpace() string {
	if full := fullNodes(b.cfg.Log.View().Full); full != "" {
		return full
	}
	return replica.NoSpace.String()
}

// Session returns a session as applied here.
func (b *KV) Session(id string) (kv.Session, bool) { return b.cfg.State.Session(id) }

// Remaining returns about how long the time that runs on name has left, if one is known to run.
func (b *KV) Remaining(kind kv.TimedKind, name string) (left time.Duration, runs bool) {
	return b.cfg.Log.Remaining(kind, name)
}
