package kv

import "time"

// Entry is a key as users see it. The fields are named as in Consul: CreateIndex and ModifyIndex are revisions.
type Entry struct {
	Key         string
	Value       []byte // shared with the state: never changed by anybody
	Flags       uint64
	CreateIndex uint64
	ModifyIndex uint64
	LockIndex   uint64
	Session     string // ID of the session that holds the lock, or ""
	// TTL counts from the command that set it. Later commands that keep the TTL do not start it anew. 0: permanent.
	TTL time.Duration
}

// entries is the newest state of the keys: a memtable (active) over the one that a checkpoint is writing (frozen)
// over the state database.
type entries struct {
	source Source
	active *memtable
	frozen *memtable // nil if no checkpoint is being written
	bytes  int64     // of active
	view   StateDB   // while Apply runs: open if it was needed, else nil
	key    []byte    // scratch
}

// layers returns the newest state, without a state database but while Apply runs.
func (s *entries) layers() layers { return layers{active: s.active, frozen: s.frozen, stateDB: s.view} }

// get returns the newest entry of key, through a view of its own where the state database must be asked. It changes
// nothing.
func (s *entries) get(key string) (Entry, bool, error) {
	l := s.layers()
	if e, known := l.inMemory(key); known {
		if e == nil {
			return Entry{}, false, nil
		}
		return *e, true, nil
	}
	stateDB, err := s.source.View()
	if err != nil {
		return Entry{}, false, err
	}
	defer stateDB.Close()
	l.stateDB = stateDB
	return l.get(key)
}

// entry returns the newest entry of key, for as long as anybody likes but not to be changed; nil if there is none.
func (s *entries) entry(key string) (*Entry, error) {
	l := s.layers()
	if e, known := l.inMemory(key); known {
		return e, nil
	}
	if err := s.openView(); err != nil {
		return nil, err
	}
	l.stateDB = s.view
	e, found, err := l.get(key)
	if err != nil || !found {
		return nil, err
	}
	return &e, nil
}

// indexes returns the newest entry of key. Of its value only the length may be used after the command: the value may go
// with the view. A missing key has ModifyIndex 0, which no entry has.
func (s *entries) indexes(key string) (Entry, bool, error) {
	if e, known := s.active.Get(key); known {
		if e == nil {
			return Entry{}, false, nil
		}
		return *e, true, nil
	}
	return s.beneath(key)
}

// before returns the newest entry of c's key, with its value if c tells of it, or else as indexes does.
func (s *entries) before(c *Command) (old Entry, found bool, err error) {
	if c.Mode&tellingModes == 0 {
		return s.indexes(c.Key)
	}
	e, err := s.entry(c.Key)
	if err != nil || e == nil {
		return Entry{}, false, err
	}
	return *e, true, nil
}

// beneath is indexes below the active memtable.
func (s *entries) beneath(key string) (Entry, bool, error) {
	if s.frozen != nil {
		if e, known := s.frozen.Get(key); known {
			if e == nil {
				return Entry{}, false, nil
			}
			return *e, true, nil
		}
	}
	if err := s.openView(); err != nil {
		return Entry{}, false, err
	}
	s.key = append(s.key[:0], key...)
	record, err := s.view.Get(KindData, s.key)
	if err != nil || record == nil {
		return Entry{}, false, err
	}
	e, err := decodeEntry(key, record)
	return e, err == nil, err
}

// scan calls fn with every key of p that exists, in p's order, until fn returns false.
func (s *entries) scan(p span, fn func(h *hit) bool) error {
	if err := s.openView(); err != nil {
		return err
	}
	l := s.layers()
	return l.scan(p, fn)
}

// put makes e, or a tombstone, the newest of key, and returns what the active memtable had of it.
func (s *entries) put(key string, e *Entry) (old *Entry, replaced bool) {
	if old, replaced = s.active.Set(key, e); replaced {
		s.bytes -= sizeOf(key, old)
	}
	s.bytes += sizeOf(key, e)
	return old, replaced
}

// takeBack removes e, which put has made the first that the active memtable has of its key.
func (s *entries) takeBack(e *Entry) {
	s.active.Delete(e.Key)
	s.bytes -= sizeOf(e.Key, e)
}

// freeze sets the active memtable aside, to be written by a checkpoint, and begins an empty one.
func (s *entries) freeze() *memtable {
	s.active, s.frozen, s.bytes = newMemtable(), s.active, 0
	return s.frozen
}

// openView opens the state database once for a slot. It must not stay open longer: storage cannot grow its file under a
// view.
func (s *entries) openView() error {
	if s.view != nil {
		return nil
	}
	view, err := s.source.View()
	if err != nil {
		return err
	}
	s.view = view
	return nil
}

// closeView closes what one slot needed.
func (s *entries) closeView() {
	if s.view != nil {
		s.view.Close()
		s.view = nil
	}
}
