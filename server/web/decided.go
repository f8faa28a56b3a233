package web

import (
	"errors"
	"fmt"
	"time"

	"tenure/kv"
	"tenure/server/access"
	"tenure/server/slow"
)

// Sending is a command that is sent to the log under what was decided about its request.
type Sending struct {
	To      Writer
	Request *access.Request // nil: nobody had to decide
	Drawn   bool            // the idempotency key of the command is this node's own
	Timeout time.Duration
	Took    *slow.Write // may be nil
}

// Send has c applied. If permissions were taken away meanwhile, so that the log has refused c, this node decides once
// more and sends another copy. That verdict is about one copy. So once the log says that an earlier one may have been
// applied, every error is an ErrUnknown.
func (s *Sending) Send(c kv.Command) (kv.Result, error) {
	asked, doubt := time.Now(), false
	for left := s.Timeout; left > 0; left = s.Timeout - time.Since(asked) {
		if s.Request != nil {
			c.Decided = s.Request.Revision()
		}
		write := s.To.Write
		if s.Drawn && !doubt { // a new base would make a second write of a copy in doubt
			write = s.To.WriteDrawn
		}
		res, err := write(left, c, s.Took)
		if err == nil {
			switch res.Code {
			case kv.CodeDecideInDoubt:
				doubt = true
			case kv.CodeDecideAgain:
			default:
				return res, nil
			}
			err = s.decideAgain(res.Count, left)
		}
		if err != nil {
			return kv.Result{}, inDoubtOf(err, doubt)
		}
	}
	return kv.Result{}, inDoubtOf(ErrAlwaysNew, doubt)
}

// ErrAlwaysNew is the error of a request about which no decision lasts.
var ErrAlwaysNew = fmt.Errorf("%w: permissions change all the time; try again", ErrNotApplied)

// decideAgain decides once more, by tokens and policies of that revision or later ones.
func (s *Sending) decideAgain(revision uint64, left time.Duration) error {
	if s.Request == nil {
		return fmt.Errorf("%w: a command that nobody had to decide about was refused as decided long ago", ErrUnknown)
	}
	return s.Request.AgainAt(revision, left)
}

// inDoubtOf returns the error of a write whose last copy came to err. doubt: an earlier copy may have been applied. Then
// the error is an ErrUnknown, and not a denial.
func inDoubtOf(err error, doubt bool) error {
	if !doubt || errors.Is(err, ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w: an earlier copy of this write was applied, or may have been, and a later one was not: %s",
		ErrUnknown, err.Error())
}
