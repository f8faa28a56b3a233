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
	"tenure/server/service"
	"tenure/server/slow"
)

// KVConfig is what a KV is made of. All fields are required.
type KVConfig struct {
	Self       ballot.NodeID
	Clock      *clock.Clock
	Started    time.Duration // reading of the clock at the start of the process
	State      *runner.State
	Log        *runner.Log
	Mastership *runner.Mastership
	Lifecycle  *runner.Lifecycle
}

// KV writes and reads keys and sessions.
type KV struct {
	cfg  KVConfig
	keys keyCount
}

// NewKV returns a KV.
func NewKV(c KVConfig) *KV {
	b := &KV{cfg: c}
	b.keys.count = b.countKeys
	return b
}

// Write has the command applied through the master, wherever it is.
func (b *KV) Write(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	r, err := b.write(timeout, c, took)
	return r.Result, err
}

// WriteDrawn is Write of a command whose key this node has drawn. Its base is the state that this node had applied, and
// is too old while the node lags behind an install of a snapshot. If this node has sent only one copy, no other copy
// can exist, and the verdict holds for all. So the command may get a newer base, as if it came now.
func (b *KV) WriteDrawn(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	for end := time.Now().Add(timeout); ; {
		r, err := b.write(time.Until(end), c, took)
		if err == nil && r.Sole && r.Result.Code == kv.CodeDecideInDoubt {
			r.Result.Code = kv.CodeDecideAgain // the doubt was because of the base
		}
		if err != nil || !mayGetNewBase(&r) {
			return r.Result, err
		}
		if time.Until(end) <= 0 {
			return kv.Result{}, fmt.Errorf("%w: this node lags behind the replacement of the state: try again",
				service.ErrNotApplied)
		}
		c.Base = r.Result.Revision // the store had it when the verdict was made, so it is not ahead
	}
}

// mayGetNewBase reports whether r says that a command under a key of this node was not applied because of its base, and
// that no other copy ever is.
func mayGetNewBase(r *replica.Reply) bool {
	return r.Outcome == replica.Done && r.Result.Code == kv.CodeKeyTooOld && r.Sole
}

func (b *KV) write(timeout time.Duration, c kv.Command, took *slow.Write) (replica.Reply, error) {
	r, err := b.cfg.Log.Write(timeout, c, took)
	switch refused := untaken(err); {
	case refused != nil:
		return replica.Reply{}, refused
	case err != nil:
		return replica.Reply{}, fmt.Errorf("%w: %w; the write may have been applied, or may still be",
			service.ErrUnknown, err)
	}
	if r.Outcome == replica.Done && !r.Sole {
		err = inDoubt(&c, &r.Result)
	} else {
		err = b.outcome(r)
	}
	return r, err
}

// inDoubt looks at the verdict on a copy of c of which an earlier one may have been applied, or may still be. A verdict
// that the log does not remember under the key says nothing of the earlier copy: it is an error. Without a key the log
// does not find the earlier copy when it has the command decided again, so that is told here.
func inDoubt(c *kv.Command, r *kv.Result) error {
	switch r.Code {
	case kv.CodeMalformed, kv.CodeBaseAhead, kv.CodeLevel:
		return fmt.Errorf("%w: a copy of the write was refused (%s), and an earlier one may have been applied, or may "+
			"still be", service.ErrUnknown, r.Code)
	case kv.CodeDecideAgain:
		if c.IdemKey == "" {
			r.Code = kv.CodeDecideInDoubt
		}
	}
	return nil
}

// untaken returns what a client is told if err, of a runner, says that it has not taken the request, else nil.
func untaken(err error) error {
	switch {
	case errors.Is(err, runner.ErrOverloaded):
		return fmt.Errorf("%w: %w; try again later", service.ErrOverloaded, err)
	case errors.Is(err, runner.ErrClosed):
		return fmt.Errorf("%w: %w; ask another", service.ErrNotApplied, err)
	}
	return nil
}

// outcome returns what the client is told of r.
func (b *KV) outcome(r replica.Reply) error {
	switch r.Outcome {
	case replica.Done:
		return nil
	case replica.Refused:
		if r.Reason == replica.NoSpace {
			return fmt.Errorf("%w: %s: nothing was changed; delete keys or make space there, then try again",
				service.ErrNoSpace, b.noSpace())
		}
		if r.Reason == replica.NotCaughtUp {
			return service.ErrNotCaughtUp
		}
		if r.Reason == replica.Overloaded {
			return fmt.Errorf("%w: %s; try again later", service.ErrOverloaded, r.Reason)
		}
		return fmt.Errorf("%w: %s; try again", service.ErrNotApplied, r.Reason)
	}
	return fmt.Errorf("%w: %s; the write may have been applied, or may still be", service.ErrUnknown, r.Reason)
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
