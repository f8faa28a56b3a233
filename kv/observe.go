package kv

import "slices"

// Observe makes o's functions those that are called; one that is nil leaves the one before as it is. It counts as a
// write to s.
func (s *State) Observe(o Observer) {
	if o.Changed != nil {
		s.observer.Changed = o.Changed
	}
	if o.Timed != nil {
		s.observer.Timed = o.Timed
	}
}

// Timed calls fn with everything that runs now: sessions, keys, lock-delays, each in order.
func (s *State) Timed(fn func(Timed)) {
	s.reg.sessions.Scan(func(id string, e *Session) bool {
		if e.TTL > 0 {
			fn(Timed{Kind: TimedSession, Name: id, Arm: e.Renewals, After: e.TTL})
		}
		return true
	})
	s.reg.expiry.Scan(func(key string, t running) bool {
		fn(Timed{Kind: TimedKey, Name: key, Arm: t.arm, After: t.after})
		return true
	})
	s.reg.delays.Scan(func(key string, t running) bool {
		fn(Timed{Kind: TimedDelay, Name: key, Arm: t.arm, After: t.after})
		return true
	})
}

// told is what the observer will be told when the command has succeeded.
type told struct {
	changed []Changed
	timed   []Timed
}

// tellKey notes that key changed, with nil that it was deleted.
func (s *State) tellKey(key string, e *Entry) {
	if s.observer.Changed != nil {
		s.told.changed = append(s.told.changed, Changed{Revision: s.revision, Key: key, Entry: e})
	}
}

func (s *State) tellSession(id string) {
	if s.observer.Changed != nil {
		s.told.changed = append(s.told.changed, Changed{Revision: s.revision, Session: id})
	}
}

func (s *State) tellTimed(t Timed) {
	if s.observer.Timed != nil {
		s.told.timed = append(s.told.timed, t)
	}
}

// tell passes on what was noted for one command.
func (s *State) tell() {
	if n := len(s.told.changed); n > 0 {
		s.told.changed[n-1].Last = true
		for _, c := range s.told.changed {
			s.observer.Changed(c)
		}
		s.told.changed = reuse(s.told.changed)
	}
	if len(s.told.timed) > 0 {
		for _, t := range s.told.timed {
			s.observer.Timed(t)
		}
		s.told.timed = reuse(s.told.timed)
	}
}

// reuse empties list for the next command, unless it has become large.
func reuse[T any](list []T) []T {
	if cap(list) > keepTold {
		return nil
	}
	clear(list)
	return list[:0]
}

const keepTold = 256

// settle leaves of each key that a transaction changed several times only the last change: nobody ever sees the others.
func (t *told) settle() {
	if len(t.changed) < 2 {
		return
	}
	seen := make(map[string]bool, len(t.changed))
	kept := len(t.changed)
	for i := len(t.changed) - 1; i >= 0; i-- {
		if c := t.changed[i]; !seen[c.Key] {
			seen[c.Key] = true
			kept--
			t.changed[kept] = c
		}
	}
	t.changed = slices.Delete(t.changed, 0, kept)
}
