package kv

// lock carries out what c does to the lock of its key: old is the entry that was there, e the one that comes. Any code
// but CodeDone refuses c. At most limit keys are locked or in lock-delay.
func (r *registers) lock(c *Command, old, e *Entry, limit int) Code {
	switch c.Lock {
	case LockAcquire:
		return r.acquire(c.Session.ID, old, e, limit)
	case LockRelease:
		if old.Session != c.Session.ID {
			return CodeCondition
		}
		e.Session = ""
	}
	return CodeDone
}

// acquire locks e for a session. To the holder the lock is as if it were free, but it is not a new one.
func (r *registers) acquire(session string, old, e *Entry, limit int) Code {
	if !r.sessions.lives(session) {
		return CodeNoSession
	}
	if old.Session == session {
		return CodeDone
	}
	if _, delayed := r.times.delays.Get(e.Key); delayed || old.Session != "" {
		return CodeCondition
	}
	if r.sessions.held.Len()+r.times.delays.Len() >= limit {
		return CodeFull
	}
	e.Session = session
	e.LockIndex++
	return CodeDone
}

// endSession carries out OpSessionDestroy and OpEndSession. It ends the session and every lock that it holds, in one
// revision.
func (x *executor) endSession(c *Command) (Result, error) {
	e, code := x.reg.sessions.ended(c)
	if e == nil {
		return x.unchanged(code), nil
	}
	revision := x.stamp()
	var deleted uint64
	for _, key := range x.reg.sessions.heldBy(e.ID) {
		old, err := x.entries.entry(key)
		switch {
		case err != nil:
			return Result{}, err
		case old == nil || old.Session != e.ID:
			return Result{}, damaged("session %s is said to hold the lock of key %q, which it does not", e.ID, key)
		case e.Behavior == Delete:
			x.erase(doom(key, old))
			deleted++
		default:
			free := *old
			free.Session, free.ModifyIndex = "", revision
			x.place(&free, old)
		}
		if e.LockDelay > 0 {
			x.notes.time(x.reg.times.setDelay(key, e.LockDelay, revision, &x.reg.changes))
		}
	}
	x.notes.time(x.reg.sessions.drop(e, &x.reg.changes))
	x.reg.sessions.index = revision
	x.notes.session(x.revision, e.ID)
	return Result{Code: CodeDone, Revision: revision, Count: deleted}, nil
}
