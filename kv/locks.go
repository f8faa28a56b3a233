package kv

import "strings"

// lock carries out what c does to the lock of its key: old is the entry that was there, e the one that comes. Any code
// but CodeDone refuses c.
func (s *State) lock(c *Command, old, e *Entry) Code {
	switch c.Lock {
	case LockAcquire:
		return s.acquire(c.Session.ID, old, e)
	case LockRelease:
		if old.Session != c.Session.ID {
			return CodeCondition
		}
		e.Session = ""
	}
	return CodeDone
}

// acquire locks e for a session. To the holder the lock is as if it were free, but it is not a new one.
func (s *State) acquire(session string, old, e *Entry) Code {
	if _, lives := s.reg.sessions.Get(session); !lives {
		return CodeNoSession
	}
	if old.Session == session {
		return CodeDone
	}
	if _, delayed := s.reg.delays.Get(e.Key); delayed || old.Session != "" {
		return CodeCondition
	}
	if s.reg.held.Len()+s.reg.delays.Len() >= s.limits.Locks {
		return CodeFull
	}
	e.Session = session
	e.LockIndex++
	return CodeDone
}

func (s *State) createSession(c *Command) (Result, error) {
	if _, exists := s.reg.sessions.Get(c.Session.ID); exists {
		return s.unchanged(CodeExists), nil
	}
	if s.reg.sessions.Len() >= s.limits.Sessions {
		return s.unchanged(CodeFull), nil
	}
	e := c.Session
	e.CreateIndex = s.stamp()
	e.ModifyIndex, s.reg.sessionsIndex = e.CreateIndex, e.CreateIndex
	s.putSession(&e)
	s.tellSession(e.ID)
	return Result{Code: CodeDone, Revision: s.revision, Body: e.ID}, nil
}

func (s *State) renewSession(c *Command) (Result, error) {
	old, lives := s.reg.sessions.Get(c.Session.ID)
	if !lives {
		return s.unchanged(CodeNoSession), nil
	}
	e := *old
	e.Renewals++
	s.putSession(&e)
	return s.unchanged(CodeDone), nil
}

func (s *State) destroySession(c *Command) (Result, error) {
	e, lives := s.reg.sessions.Get(c.Session.ID)
	if !lives {
		return s.unchanged(CodeDone), nil
	}
	return s.endSession(e)
}

// expireSession ends the session that c means, unless it was renewed since.
func (s *State) expireSession(c *Command) (Result, error) {
	e, lives := s.reg.sessions.Get(c.Session.ID)
	if !lives || e.TTL == 0 || e.Renewals != c.Arm {
		return s.unchanged(CodeCondition), nil
	}
	return s.endSession(e)
}

// endSession ends e and every lock that it holds, in one revision.
func (s *State) endSession(e *Session) (Result, error) {
	revision := s.stamp()
	var deleted uint64
	for _, key := range s.reg.heldBy(e.ID) {
		old, err := s.entry(key)
		switch {
		case err != nil:
			return Result{}, err
		case old == nil || old.Session != e.ID:
			return Result{}, damaged("session %s is said to hold the lock of key %q, which it does not", e.ID, key)
		case e.Behavior == Delete:
			s.erase(key, e.ID, old.TTL)
			deleted++
		default:
			free := *old
			free.Session, free.ModifyIndex = "", revision
			s.place(&free, old)
		}
		if e.LockDelay > 0 {
			s.setDelay(key, e.LockDelay)
		}
	}
	s.dropSession(e)
	s.reg.sessionsIndex = revision
	s.tellSession(e.ID)
	return Result{Code: CodeDone, Revision: revision, Count: deleted}, nil
}

// Session is the session of that ID. It changes nothing in s, like Get.
func (s *State) Session(id string) (Session, bool) { return s.reg.session(id) }

// SessionCount returns the number of sessions. It changes nothing in s, like Get.
func (s *State) SessionCount() int { return s.reg.sessions.Len() }

// SessionsIndex is the highest revision at which a session was created or ended, 0 if none ever was.
func (s *State) SessionsIndex() uint64 { return s.reg.sessionsIndex }

// Session is the session of that ID.
func (v *Snapshot) Session(id string) (Session, bool) { return v.reg.session(id) }

// Sessions calls fn with the sessions of a node, or with all if node is empty, in the order of their IDs, until fn says
// false.
func (v *Snapshot) Sessions(node string, fn func(Session) bool) {
	v.reg.sessions.Scan(func(_ string, e *Session) bool {
		return node != "" && e.Node != node || fn(*e)
	})
}

// Held calls fn with the keys that a session has locked, in their order, until fn says false.
func (v *Snapshot) Held(session string, fn func(key string) bool) {
	prefix := session + "\x00"
	v.reg.held.Ascend(prefix, func(at string, _ struct{}) bool {
		key, its := strings.CutPrefix(at, prefix)
		return its && fn(key)
	})
}

// SessionsIndex is the highest revision at which a session was created or ended, 0 if none ever was.
func (v *Snapshot) SessionsIndex() uint64 { return v.reg.sessionsIndex }

// Deleted is the highest revision at which a key that starts with prefix was deleted. Deletions so old that they are not
// remembered one by one count for every prefix. 0: there was none.
func (v *Snapshot) Deleted(prefix string) uint64 { return v.reg.graves.newest(prefix) }

func (r *registers) session(id string) (Session, bool) {
	if e, lives := r.sessions.Get(id); lives {
		return *e, true
	}
	return Session{}, false
}
