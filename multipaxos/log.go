package multipaxos

import (
	"fmt"

	"tenure/internal/ballot"
)

// record is an accepted entry and the Persist that carries it; seq 0 was durable before this run. A zero ballot
// marks a slot in which nothing was accepted.
type record struct {
	Entry
	seq uint64
}

// recordBytes is what a record costs in memory and on the wire beside its value, about.
const recordBytes = 96

// entryLog is the acceptor's log. Every record above the chosen mark, and every one that is not durable yet, is in
// memory; older ones are dropped from the front and read back through the Reader.
//
// Invariant: slots in (truncated, base) are all durable and chosen, so each of them has an entry on disk.
type entryLog struct {
	reader    Reader
	recent    ring[record] // slots base, base+1, …
	base      Slot         // ≥ truncated+1
	truncated Slot
	bytes     int // of what is in recent
	tail      tail
}

// at returns the record of slot s, or nil if it is not in memory.
func (l *entryLog) at(s Slot) *record {
	if s < l.base || s-l.base >= Slot(l.recent.len()) {
		return nil
	}
	if r := l.recent.at(int(s - l.base)); !r.Ballot.IsZero() {
		return r
	}
	return nil
}

// last returns the highest slot with an entry, or base−1 if none is in memory.
func (l *entryLog) last() Slot { return l.base + Slot(l.recent.len()) - 1 }

// put stores e, which Persist seq carries. Only slots that are not known chosen are ever written, and those are in
// memory.
func (l *entryLog) put(e Entry, seq uint64) {
	if e.Slot < l.base {
		panic(fmt.Sprintf("multipaxos: slot %d written again below %d", e.Slot, l.base))
	}
	for l.last() < e.Slot {
		l.recent.push(record{Entry: Entry{Slot: l.last() + 1}})
		l.bytes += recordBytes
	}
	r := l.recent.at(int(e.Slot - l.base))
	l.bytes += len(e.Value) - len(r.Value)
	*r = record{Entry: e, seq: seq}
}

// evict drops chosen and durable records from the front while memory holds more than limit bytes.
func (l *entryLog) evict(limit int, chosen Slot, durable uint64) {
	for l.bytes > limit && l.recent.len() > 0 && l.base <= chosen && l.recent.at(0).seq <= durable {
		r := l.recent.at(0)
		gather(&l.tail.pieces, r.Slot, recordBytes+len(r.Value))
		l.drop()
	}
}

// truncate forgets the slots up to and including t.
func (l *entryLog) truncate(t Slot) {
	for l.base <= t && l.recent.len() > 0 {
		l.drop()
	}
	l.base = max(l.base, t+1)
	l.truncated = max(l.truncated, t)
	l.tail.cut(t)
}

func (l *entryLog) drop() {
	l.bytes -= recordBytes + len(l.recent.pop().Value)
	l.base++
}

// load reads the records in [from, through] into memory at start.
func (l *entryLog) load(from, through Slot, pageBytes int) error {
	for from <= through {
		page, err := l.reader.Entries(from, through, pageBytes)
		if err != nil {
			return fmt.Errorf("read log entries from slot %d: %w", from, err)
		}
		if len(page) == 0 {
			return nil
		}
		for _, e := range page {
			if e.Slot < from || e.Slot > through || e.Ballot.IsZero() {
				return fmt.Errorf("%w: entry of slot %d, ballot %v where slots %d to %d were read", ErrDamaged, e.Slot, e.Ballot,
					from, through)
			}
			l.put(e, 0)
			from = e.Slot + 1
		}
	}
	return nil
}

// read returns one page of the entries that exist in [from, through], from memory and disk. It is empty only if there
// are none.
func (l *entryLog) read(from, through Slot, maxBytes int) ([]Entry, error) {
	from, through = max(from, l.truncated+1), min(through, l.last())
	if from > through {
		return nil, nil
	}
	page, bytes, err := l.readDisk(from, min(through, l.base-1), maxBytes)
	if err != nil {
		return nil, err
	}
	for s := max(from+Slot(len(page)), l.base); s <= through && bytes < maxBytes && len(page) < maxPageEntries; s++ {
		if r := l.at(s); r != nil {
			if page == nil {
				page = make([]Entry, 0, min(int(through-s)+1, maxPageEntries, 64))
			}
			page = append(page, r.Entry)
			bytes += len(r.Value)
		}
	}
	return page, nil
}

// readDisk returns one page of slots below base. All of them exist, so a gap is damage. A page cut short counts as
// full, so that memory is not appended behind a hole.
func (l *entryLog) readDisk(from, through Slot, maxBytes int) ([]Entry, int, error) {
	if from > through {
		return nil, 0, nil
	}
	page, err := l.reader.Entries(from, min(through, from+maxPageEntries-1), maxBytes)
	if err != nil {
		return nil, 0, fmt.Errorf("read log entries from slot %d: %w", from, err)
	}
	bytes := 0
	for i, e := range page {
		if e.Slot != from+Slot(i) || e.Slot > through || e.Ballot.IsZero() {
			return nil, 0, fmt.Errorf("%w: slot %d, ballot %v where the chosen slot %d must be", ErrDamaged, e.Slot, e.Ballot,
				from+Slot(i))
		}
		bytes += len(e.Value)
	}
	if len(page) == 0 {
		return nil, 0, fmt.Errorf("%w: chosen slot %d is missing", ErrDamaged, from)
	}
	if from+Slot(len(page)) <= through {
		bytes = max(bytes, maxBytes)
	}
	return page, bytes, nil
}

// page returns a row of entries from slot from on, below end, and the bytes of their values. They are all in memory.
func (l *entryLog) page(from, end Slot, maxBytes int) ([]Entry, int) {
	page := make([]Entry, 0, min(int(end-from), maxPageEntries))
	bytes := 0
	for s := from; s < end && len(page) < maxPageEntries && bytes < maxBytes; s++ {
		e := l.at(s).Entry
		page = append(page, e)
		bytes += len(e.Value)
	}
	return page, bytes
}

// firstLacking returns the first slot in [from, through] whose vote is not of ballot b, or 0.
func (l *entryLog) firstLacking(b ballot.Ballot, from, through Slot) Slot {
	for s := from; s <= through; s++ {
		if r := l.at(s); r == nil || r.Ballot != b {
			return s
		}
	}
	return 0
}
