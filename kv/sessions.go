package kv

import (
	"strings"
	"time"

	"github.com/tidwall/btree"
)

// Session is what locks are bound to. It ends by OpSessionDestroy, or by OpEndSession when it was not renewed in time,
// and all its locks end with it. Its names and JSON are Consul's.
type Session struct {
	ID        string // a UUID in lower case
	Name      string
	Node      string
	LockDelay time.Duration // for that long nobody acquires what it held when it ended; 0: no delay
	Behavior  Behavior
	TTL       time.Duration // 0: it ends only when destroyed
	// CreateIndex and ModifyIndex are revisions. A renewal moves neither.
	CreateIndex uint64
	ModifyIndex uint64
	Renewals    uint64 // the Arm of its expiry
}

// Behavior is what happens to the keys whose locks a session holds when it ends.
type Behavior uint8

// The behaviors. Numbers are on disks and wires: they are never reused.
const (
	Release Behavior = 0 // they are unlocked, each with a new ModifyIndex
	Delete  Behavior = 1 // they are deleted
)

// sessions is the sessions and the locks that each holds.
type sessions struct {
	byID  *btree.Map[string, *Session] // a *Session in it is never changed
	held  *btree.Map[string, struct{}] // session ID, 0, key: the locks
	index uint64                       // highest revision at which a session was created or ended
}

func newSessions() sessions {
	return sessions{byID: btree.NewMap[string, *Session](0), held: btree.NewMap[string, struct{}](0)}
}

// copy returns s as it is now, whatever becomes of s.
func (s *sessions) copy() sessions {
	return sessions{byID: s.byID.Copy(), held: s.held.Copy(), index: s.index}
}

func (s *sessions) get(id string) (Session, bool) {
	if e, lives := s.byID.Get(id); lives {
		return *e, true
	}
	return Session{}, false
}

func (s *sessions) lives(id string) bool {
	_, lives := s.byID.Get(id)
	return lives
}

// lacks reports whether p needs a session and names none that there is. It comes before all else in a transaction: no ID
// at all would be that of a key without a lock.
func (s *sessions) lacks(p *Part) bool {
	return (p.Lock != LockNone || p.Op == OpCheckSession) && !s.lives(p.Session.ID)
}

// put makes e the session of its ID, and returns the time that runs for it.
func (s *sessions) put(e *Session, c *changes) Timed {
	s.byID.Set(e.ID, e)
	c.set(KindSession, e.ID, appendSession(nil, e))
	if e.TTL == 0 {
		return Timed{}
	}
	return Timed{Kind: TimedSession, Name: e.ID, Arm: e.Renewals, After: e.TTL}
}

// drop forgets e, and returns the time that ran for it.
func (s *sessions) drop(e *Session, c *changes) Timed {
	s.byID.Delete(e.ID)
	c.set(KindSession, e.ID, nil)
	if e.TTL == 0 {
		return Timed{}
	}
	return Timed{Kind: TimedSession, Name: e.ID, Arm: e.Renewals}
}

// create carries out OpSessionCreate. At most limit sessions live.
func (s *sessions) create(c *Command, limit int, ch *changes, l *ledger) Result {
	if s.lives(c.Session.ID) {
		return l.unchanged(CodeExists)
	}
	if s.byID.Len() >= limit {
		return l.unchanged(CodeFull)
	}
	e := c.Session
	e.CreateIndex = l.stamp()
	e.ModifyIndex, s.index = e.CreateIndex, e.CreateIndex
	l.notes.time(s.put(&e, ch))
	l.notes.session(l.revision, e.ID)
	return Result{Code: CodeDone, Revision: l.revision, Body: e.ID}
}

// renew carries out OpSessionRenew.
func (s *sessions) renew(c *Command, ch *changes, l *ledger) Result {
	old, lives := s.byID.Get(c.Session.ID)
	if !lives {
		return l.unchanged(CodeNoSession)
	}
	e := *old
	e.Renewals++
	l.notes.time(s.put(&e, ch))
	return l.unchanged(CodeDone)
}

// ended returns the session that c, OpSessionDestroy or OpEndSession, ends. If it is nil c ends none, and code is its
// result. OpEndSession ends no session that was renewed since.
func (s *sessions) ended(c *Command) (e *Session, code Code) {
	e, lives := s.byID.Get(c.Session.ID)
	if c.Op == OpEndSession && (!lives || e.TTL == 0 || e.Renewals != c.Arm) {
		return nil, CodeCondition
	}
	return e, CodeDone
}

// renewals returns the number of renewals of each session, so that a command that was sent to end a session does not
// end an uploaded one with the same ID.
func (s *sessions) renewals() map[string]uint64 {
	out := make(map[string]uint64, s.byID.Len())
	s.byID.Scan(func(id string, e *Session) bool {
		out[id] = e.Renewals
		return true
	})
	return out
}

func heldKey(session, key string) string { return session + "\x00" + key }

// hold notes that a session has locked key.
func (s *sessions) hold(session, key string, c *changes) {
	k := heldKey(session, key)
	s.held.Set(k, struct{}{})
	c.set(KindHeld, k, []byte{recordVersion})
}

// unhold notes that a session has not locked key any more.
func (s *sessions) unhold(session, key string, c *changes) {
	k := heldKey(session, key)
	s.held.Delete(k)
	c.set(KindHeld, k, nil)
}

// eachHeld calls fn with the keys that a session has locked, in order, until fn returns false.
func (s *sessions) eachHeld(session string, fn func(key string) bool) {
	prefix := heldKey(session, "")
	s.held.Ascend(prefix, func(at string, _ struct{}) bool {
		key, its := strings.CutPrefix(at, prefix)
		return its && fn(key)
	})
}

// heldBy returns the keys that a session has locked, in order.
func (s *sessions) heldBy(session string) (keys []string) {
	s.eachHeld(session, func(key string) bool {
		keys = append(keys, key)
		return true
	})
	return keys
}

// Session returns the session of that ID. It changes nothing in s, like Get.
func (s *State) Session(id string) (Session, bool) { return s.exec.reg.sessions.get(id) }

// SessionCount returns the number of sessions. It changes nothing in s, like Get.
func (s *State) SessionCount() int { return s.exec.reg.sessions.byID.Len() }

// SessionsIndex returns the highest revision at which a session was created or ended, 0 if none ever was.
func (s *State) SessionsIndex() uint64 { return s.exec.reg.sessions.index }

// Session returns the session of that ID.
func (v *Snapshot) Session(id string) (Session, bool) { return v.sessions.get(id) }

// Sessions calls fn with the sessions of a node, or with all if node is empty, in the order of their IDs, until fn
// returns false.
func (v *Snapshot) Sessions(node string, fn func(Session) bool) {
	v.sessions.byID.Scan(func(_ string, e *Session) bool {
		return node != "" && e.Node != node || fn(*e)
	})
}

// Held calls fn with the keys that a session has locked, in their order, until fn returns false.
func (v *Snapshot) Held(session string, fn func(key string) bool) { v.sessions.eachHeld(session, fn) }

// SessionsIndex returns the highest revision at which a session was created or ended, 0 if none ever was.
func (v *Snapshot) SessionsIndex() uint64 { return v.sessions.index }
