package service

import (
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/acl"
)

// MayEndSession decides, by the session's node, whether the request may end or renew a session. If there is false, this
// node has made sure that the session does not exist: then the caller sends no command, which could meet a session made
// meanwhile. A client that may read no session does not learn whether it exists, and a client that may not read this
// one does not learn its node. Without tokens MayEndSession does not look.
func (r *Request) MayEndSession(id string) (there bool, err error) {
	r.Line.About(id)
	if !r.Decides() {
		return true, r.needServing()
	}
	if err := r.needSome(acl.SessionRead("")); err != nil {
		return false, ofOthers(err)
	}
	e, there := r.node().Session(id)
	if !there {
		if err := r.Refresh(); err != nil {
			return false, err
		}
		if e, there = r.node().Session(id); !there {
			return false, nil
		}
	}
	if err = r.need(acl.SessionWrite(e.Node)); err != nil && !r.may(acl.SessionRead(e.Node)) {
		err = ofOthers(err)
	}
	return true, err
}

// ofOthers returns what a denied client is told that must not learn anything about the session.
func ofOthers(err error) error {
	if code, _ := CodeOf(err); code != api.CodeDenied {
		return err
	}
	return &hiddenError{err}
}

// hiddenError is the denial that hides the session's node; the audit log has it.
type hiddenError struct{ denied error }

func (e *hiddenError) Error() string {
	return api.TextDenied + ": the token lacks permission 'session:write' on the node of this session"
}

// Unwrap returns the denial.
func (e *hiddenError) Unwrap() error { return e.denied }

// Session returns a session as this node has applied it. Something must have been decided.
func (r *Request) Session(id string) (kv.Session, bool) {
	r.MustBeDecided()
	return r.node().Session(id)
}

// KeyCount returns how many keys there were a little while ago. known is false if they were not counted yet, or the
// client may not read all of them. Something must have been decided.
func (r *Request) KeyCount() (keys int, known bool) {
	if r.MustBeDecided(); !r.MayKeys("") {
		return 0, false
	}
	return r.node().KeyCount()
}

// Remaining returns about how long the time that runs on name has left; runs is false if none is known to run.
func (r *Request) Remaining(kind kv.TimedKind, name string) (left time.Duration, runs bool) {
	r.MustBeDecided()
	return r.node().Remaining(kind, name)
}
