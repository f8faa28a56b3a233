package kv

// lock carries out what c does to the lock of its key: old is the entry that was there, e the one that comes. Any code
// but CodeDone refuses c.
func (x *executor) lock(c *Command, old, e *Entry) Code {
	switch c.Lock {
	case LockAcquire:
		return x.reg.acquire(c.Session.ID, old, e, x.limits.Locks)
	case LockRelease:
		if old.Session != c.Session.ID {
			return CodeCondition
		}
		e.Session = ""
	}
	return CodeDone
}

// acquire locks e for a session. To the holder the lock is as if it were free, but it is not a new one. At most limit
// keys are locked or in lock-delay.
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

func (x *executor) createSession(c *Command) (Result, error) {
	if _, exists := x.reg.sessions.byID.Get(c.Session.ID); exists {
		return x.unchanged(CodeExists), nil
	}
	if x.reg.sessions.byID.Len() >= x.limits.Sessions {
		return x.unchanged(CodeFull), nil
	}
	e := c.Session
	e.CreateIndex = x.stamp()
	e.ModifyIndex, x.reg.sessions.index = e.CreateIndex, e.CreateIndex
	x.notes.time(x.reg.sessions.put(&e, &x.reg.changes))
	x.notes.session(x.revision, e.ID)
	return Result{Code: CodeDone, Revision: x.revision, Body: e.ID}, nil
}

func (x *executor) renewSession(c *Command) (Result, error) {
	old, lives := x.reg.sessions.byID.Get(c.Session.ID)
	if !lives {
		return x.unchanged(CodeNoSession), nil
	}
	e := *old
	e.Renewals++
	x.notes.time(x.reg.sessions.put(&e, &x.reg.changes))
	return x.unchanged(CodeDone), nil
}

func (x *executor) destroySession(c *Command) (Result, error) {
	e, lives := x.reg.sessions.byID.Get(c.Session.ID)
	if !lives {
		return x.unchanged(CodeDone), nil
	}
	return x.endSession(e)
}

// expireSession ends the session that c means, unless it was renewed since.
func (x *executor) expireSession(c *Command) (Result, error) {
	e, lives := x.reg.sessions.byID.Get(c.Session.ID)
	if !lives || e.TTL == 0 || e.Renewals != c.Arm {
		return x.unchanged(CodeCondition), nil
	}
	return x.endSession(e)
}

// endSession ends e and every lock that it holds, in one revision.
func (x *executor) endSession(e *Session) (Result, error) {
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

// endDelay ends the lock-delay of c's key if it is the one that c means.
func (x *executor) endDelay(c *Command) Result {
	t, ended := x.reg.times.endDelay(c.Key, c.Arm, &x.reg.changes)
	if !ended {
		return x.unchanged(CodeCondition)
	}
	x.notes.time(t)
	return x.unchanged(CodeDone)
}

// newEra allots the next era of named leases (N3).
func (x *executor) newEra() Result {
	era, ok := x.reg.fences.nextEra()
	if !ok {
		return x.unchanged(CodeFull)
	}
	r := x.unchanged(CodeDone)
	r.Count = era
	return r
}
