package kv

// layers is one state of the entries: a memtable over another over the state database. A key's newest entry or
// tombstone is in the first that knows it.
type layers struct {
	active  *memtable
	frozen  *memtable // nil if nothing is being checkpointed
	stateDB StateDB
}

// hit is a key that exists, as a scan finds it: either an entry of a memtable or a record of the state database, which
// is decoded only when asked for. It is valid during the callback.
type hit struct {
	entry  *Entry
	key    []byte
	record []byte
}

func (h *hit) name() string {
	if h.entry != nil {
		return h.entry.Key
	}
	return string(h.key)
}

// peek returns the entry. Its value may go with the view.
func (h *hit) peek() (Entry, error) {
	if h.entry != nil {
		return *h.entry, nil
	}
	return decodeEntry(string(h.key), h.record)
}

// load returns the entry; unlike the record it came from, it stays valid when the view is closed.
func (h *hit) load() (Entry, error) {
	if h.entry != nil {
		return *h.entry, nil
	}
	return loadEntry(string(h.key), h.record)
}

// loadEntry decodes a record of the state database into an entry that owns its value.
func loadEntry(key string, record []byte) (Entry, error) {
	e, err := decodeEntry(key, record)
	e.Value = owned(e.Value)
	return e, err
}

// inMemory looks key up in the memtables alone. known reports that they decide: with the entry, or nil for a deleted
// key.
func (l *layers) inMemory(key string) (e *Entry, known bool) {
	if e, known = l.active.Get(key); known || l.frozen == nil {
		return e, known
	}
	return l.frozen.Get(key)
}

// get returns the newest entry of key.
func (l *layers) get(key string) (Entry, bool, error) {
	if e, known := l.inMemory(key); known {
		if e == nil {
			return Entry{}, false, nil
		}
		return *e, true, nil
	}
	record, err := l.stateDB.Get(KindData, []byte(key))
	if err != nil || record == nil {
		return Entry{}, false, err
	}
	e, err := loadEntry(key, record)
	return e, err == nil, err
}

// scan calls fn with every key of s that exists, in s's order, until fn says false.
func (l *layers) scan(s span, fn func(h *hit) bool) error {
	if s.empty() {
		return nil
	}
	m := merge{active: newCursor(l.active, s), frozen: newCursor(l.frozen, s), span: s, fn: fn}
	var err error
	if s.falling {
		var below []byte
		if s.hi != "" {
			below = []byte(s.hi)
		}
		err = l.stateDB.Descend(KindData, below, m.record)
	} else {
		err = l.stateDB.Ascend(KindData, []byte(s.lo), m.record)
	}
	if err != nil || m.stopped {
		return err
	}
	for m.step() {
	}
	return nil
}

// merge joins two cursors with the records that the state database calls out.
type merge struct {
	active, frozen cursor
	span           span
	fn             func(h *hit) bool
	hit            hit
	stopped        bool
}

// record takes the state database's next record: first everything in the memtables before it, then itself unless a
// table has the key too.
func (m *merge) record(key, value []byte) bool {
	if m.span.falling && string(key) < m.span.lo || !m.span.falling && m.span.hi != "" && string(key) >= m.span.hi {
		return false
	}
	for {
		c := m.front()
		if c == nil || m.before(string(key), c.iter.Key()) {
			m.hit = hit{key: key, record: value}
			return m.call()
		}
		same := string(key) == c.iter.Key()
		if !m.step() {
			return false
		}
		if same {
			return true
		}
	}
}

// step calls out the tables' next key, if it is not deleted, and moves on. It is false at the end.
func (m *merge) step() bool {
	c := m.front()
	if c == nil {
		return false
	}
	e := c.iter.Value()
	if c == &m.active && m.frozen.ok && m.frozen.iter.Key() == c.iter.Key() {
		m.frozen.next()
	}
	c.next()
	if e == nil {
		return true
	}
	m.hit = hit{entry: e}
	return m.call()
}

// front returns the cursor with the next key, the active one if both have it, or nil.
func (m *merge) front() *cursor {
	switch {
	case !m.frozen.ok && !m.active.ok:
		return nil
	case !m.frozen.ok:
		return &m.active
	case !m.active.ok || m.before(m.frozen.iter.Key(), m.active.iter.Key()):
		return &m.frozen
	}
	return &m.active
}

func (m *merge) before(a, b string) bool {
	if m.span.falling {
		return a > b
	}
	return a < b
}

func (m *merge) call() bool {
	m.stopped = !m.fn(&m.hit)
	return !m.stopped
}
