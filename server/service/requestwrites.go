package service

import (
	"errors"
	"fmt"
	"io"
	"time"

	"tenure/kv"
	"tenure/server/access"
	"tenure/server/acl"
	"tenure/server/slow"
)

// MayWrite decides about a command as the log will have it. Only it decides about commands: it reads the needs from the
// decoded fields. It panics if the command has no needs and nothing was decided before.
func (r *Request) MayWrite(c *kv.Command) error {
	r.Line.AboutCommand(c)
	if !r.Decides() {
		if err := r.needServing(); err != nil {
			return err
		}
		return r.makeSure()
	}
	if c.Op == kv.OpBootstrap { // the state allows it once
		return r.needServing()
	}
	err := access.EachNeed(c, func(p acl.Permission, some bool) error {
		if some {
			return r.needSome(p)
		}
		return r.need(p)
	})
	if err == nil {
		r.MustBeDecided()
	}
	return err
}

// MayWriteHere is MayWrite by this node's present state, without a wait. Call it when the node has just caught up with
// the master.
func (r *Request) MayWriteHere(c *kv.Command) error {
	if err := r.refusal(); err != nil {
		return err
	}
	if r.tokens == nil {
		return r.unidentified
	}
	r.asked = true
	return access.EachNeed(c, r.tokens.NeedHere)
}

// Write has c applied once, if the client may do all of it. drawn says that the idempotency key of c is this node's
// own. took may be nil. An error says that c was not applied and never will be, or that its outcome is unknown.
//
// If permissions were taken away meanwhile, so that the log has refused c, this node decides once more and sends
// another copy. That verdict is about one copy. So once the log says that an earlier one may have been applied, every
// error is an ErrUnknown.
func (r *Request) Write(c kv.Command, drawn bool, took *slow.Write) (kv.Result, error) {
	until, doubt := time.Now().Add(r.timeout), false
	if err := r.MayWrite(&c); err != nil {
		return kv.Result{}, err
	}
	left := r.timeout
	if r.asked {
		// The decision may have waited for the master, and that time counts. But who was found allowed sends one copy,
		// however late it is.
		left = max(time.Until(until), 1)
	}
	for ; left > 0; left = time.Until(until) {
		c.Decided = r.decidedAt()
		write := r.node().Write
		if drawn && !doubt { // with a new base, this copy could be applied beside the one in doubt
			write = r.node().WriteDrawn
		}
		res, err := write(left, c, took)
		if err == nil {
			switch res.Code {
			case kv.CodeDecideInDoubt:
				doubt = true
			case kv.CodeDecideAgain:
			default:
				r.Hide(&res)
				r.Line.cameTo(&res)
				return res, nil
			}
			err = r.decideAgain(res.Count, time.Until(until))
		}
		if err != nil {
			return kv.Result{}, afterDoubt(err, doubt)
		}
	}
	return kv.Result{}, afterDoubt(ErrAlwaysNew, doubt)
}

// Restore replaces the state of the cluster by the snapshot that body has; c was found allowed by MayWrite. Its errors
// are those of Backups.
func (r *Request) Restore(body io.Reader, c kv.Command) (kv.Result, error) {
	r.MustBeDecided()
	c.Decided = r.decidedAt()
	res, err := r.node().Restore(r.timeout, body, c)
	if err == nil && res.Code == kv.CodeDone {
		r.Line.At(res.Revision)
	}
	return res, err
}

// decidedAt returns the revision of the permissions by which the request was allowed, 0 without tokens or needs.
func (r *Request) decidedAt() uint64 {
	if !r.asked {
		return 0
	}
	return r.tokens.Revision()
}

// Hide takes out of a result, or that of a part, what the client may not read: how much others have under the prefix of
// a quota. Write does it for the result of the whole.
func (r *Request) Hide(res *kv.Result) {
	if res.Code == kv.CodeQuota && !r.may(acl.OperatorRead()) {
		res.Body = ""
	}
}

// ErrAlwaysNew is the error of a request about which no decision lasts.
var ErrAlwaysNew = fmt.Errorf("%w: permissions change all the time; try again", ErrNotApplied)

// decideAgain decides once more, by tokens and policies of that revision or later ones.
func (r *Request) decideAgain(revision uint64, left time.Duration) error {
	if !r.asked {
		return fmt.Errorf("%w: a command that nobody had to decide about was refused as decided long ago", ErrUnknown)
	}
	return r.tokens.AgainAt(revision, left)
}

// afterDoubt returns the error of a write whose last copy came to err. doubt: an earlier copy may have been applied.
// Then the error is an ErrUnknown, and not a denial. Without doubt only an error without a code becomes one.
func afterDoubt(err error, doubt bool) error {
	if !doubt || errors.Is(err, ErrUnknown) {
		return InDoubt(err)
	}
	return fmt.Errorf("%w: an earlier copy of this write was applied, or may have been, and a later one was not: %s",
		ErrUnknown, err.Error())
}
