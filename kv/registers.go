package kv

import (
	"time"

	"github.com/tidwall/btree"
)

// registers is what the state knows beside the entries. All of it is in memory, in ordered tables that share their nodes
// with their copies, so that a snapshot, a transaction's way back and a fold each cost a copy of a few words.
type registers struct {
	sessions *btree.Map[string, *Session] // by ID; a *Session in it is never changed
	held     *btree.Map[string, struct{}] // session ID, 0, key: the locks
	expiry   *btree.Map[string, running]  // by key
	delays   *btree.Map[string, running]  // by key
	fences   *btree.Map[string, uint64]   // by name: the largest token
	graves   graves
	// dirty is what changed in the tables above since the last freeze, as the image will have it: space and key → record,
	// nil for a deletion. The graves know by themselves.
	dirty *btree.Map[string, []byte]

	floors        [2]uint64 // of lease and kv fences that are not in the table
	eras          uint64    // allotted so far: the newest era (N3)
	sessionsIndex uint64    // highest revision at which a session was created or ended
}

// running is a time that runs: a TTL or a lock-delay.
type running struct {
	arm   uint64 // revision at which it was set
	after time.Duration
}

func newRegisters() registers {
	return registers{
		sessions: btree.NewMap[string, *Session](0), held: btree.NewMap[string, struct{}](0),
		expiry: btree.NewMap[string, running](0), delays: btree.NewMap[string, running](0),
		fences: btree.NewMap[string, uint64](0), graves: newGraves(), dirty: newDirty(),
	}
}

func newDirty() *btree.Map[string, []byte] { return btree.NewMap[string, []byte](0) }

// copy is r as it is now, whatever becomes of r.
func (r *registers) copy() registers {
	c := *r
	c.sessions, c.held, c.expiry, c.delays = r.sessions.Copy(), r.held.Copy(), r.expiry.Copy(), r.delays.Copy()
	c.fences, c.graves, c.dirty = r.fences.Copy(), r.graves.copy(), r.dirty.Copy()
	return c
}

// fold makes record, or nil for a deletion, what the next fold writes under key.
func (s *State) fold(space Space, key string, record []byte) {
	k := string(append(append(make([]byte, 0, 1+len(key)), byte(space)), key...))
	if old, replaced := s.reg.dirty.Set(k, record); replaced {
		s.bytes -= sizeOf(k, nil) + int64(len(old))
	}
	s.bytes += sizeOf(k, nil) + int64(len(record))
}

func (s *State) putSession(e *Session) {
	s.reg.sessions.Set(e.ID, e)
	s.fold(SpaceSession, e.ID, appendSession(nil, e))
	if e.TTL > 0 {
		s.tellTimed(Timed{Kind: TimedSession, Name: e.ID, Arm: e.Renewals, After: e.TTL})
	}
}

func (s *State) dropSession(e *Session) {
	s.reg.sessions.Delete(e.ID)
	s.fold(SpaceSession, e.ID, nil)
	if e.TTL > 0 {
		s.tellTimed(Timed{Kind: TimedSession, Name: e.ID, Arm: e.Renewals})
	}
}

func heldKey(session, key string) string { return session + "\x00" + key }

func (s *State) hold(session, key string) {
	k := heldKey(session, key)
	s.reg.held.Set(k, struct{}{})
	s.fold(SpaceHeld, k, []byte{recordVersion})
}

func (s *State) unhold(session, key string) {
	k := heldKey(session, key)
	s.reg.held.Delete(k)
	s.fold(SpaceHeld, k, nil)
}

// heldBy is the keys that a session has locked, in order.
func (r *registers) heldBy(session string) (keys []string) {
	prefix := heldKey(session, "")
	r.held.Ascend(prefix, func(k string, _ struct{}) bool {
		if len(k) < len(prefix) || k[:len(prefix)] != prefix {
			return false
		}
		keys = append(keys, k[len(prefix):])
		return true
	})
	return keys
}

// setExpiry makes ttl, from the revision of the command on, the time of key, or ends it if ttl is 0. was is its time so
// far.
func (s *State) setExpiry(key string, was, ttl time.Duration) {
	switch {
	case ttl > 0:
		t := running{arm: s.revision, after: ttl}
		s.reg.expiry.Set(key, t)
		s.fold(SpaceExpiry, key, appendRunning(nil, t))
		s.tellTimed(Timed{Kind: TimedKey, Name: key, Arm: t.arm, After: ttl})
	case was > 0:
		t, _ := s.reg.expiry.Delete(key)
		s.fold(SpaceExpiry, key, nil)
		s.tellTimed(Timed{Kind: TimedKey, Name: key, Arm: t.arm})
	}
}

// mayExpire tells whether there is room for key to get a TTL. was is its TTL so far.
func (s *State) mayExpire(was, ttl time.Duration) bool {
	return ttl == 0 || was > 0 || s.reg.expiry.Len() < s.limits.ExpiringKeys
}

func (s *State) setDelay(key string, delay time.Duration) {
	t := running{arm: s.revision, after: delay}
	s.reg.delays.Set(key, t)
	s.fold(SpaceDelay, key, appendRunning(nil, t))
	s.tellTimed(Timed{Kind: TimedDelay, Name: key, Arm: t.arm, After: delay})
}

// endDelay ends the lock-delay of c's key if it is the one that c means.
func (s *State) endDelay(c *Command) (Result, error) {
	t, runs := s.reg.delays.Get(c.Key)
	if !runs || t.arm != c.Arm {
		return s.unchanged(CodeCondition), nil
	}
	s.reg.delays.Delete(c.Key)
	s.fold(SpaceDelay, c.Key, nil)
	s.tellTimed(Timed{Kind: TimedDelay, Name: c.Key, Arm: t.arm})
	return s.unchanged(CodeDone), nil
}
