package multipaxos

// tail knows the size of the part of the log that is on the disk only, from the oldest entry on: KeepBytes bounds the
// tail kept for members that lag. It measures in pieces, not entry by entry. Entries that are also in memory do not
// count: at most CacheBytes of chosen and durable ones.
//
// The part that an earlier run has left is measured by reading it, a page a tick, and until then counts as nothing.
type tail struct {
	found    ring[piece] // of what an earlier run has left, as far as measured
	measured Slot        // of it, through this slot
	left     Slot        // its last slot; 0: there is nothing to measure
	pieces   ring[piece] // of what has left memory in this run, above left
}

// piece is the size of a row of entries, up to slot through.
type piece struct {
	through      Slot
	slots, bytes int
}

// What a piece gathers.
const (
	pieceSlots = 256
	pieceBytes = 64 << 10
)

// gather adds an entry to the newest piece of r, or begins another.
func gather(r *ring[piece], s Slot, bytes int) {
	if n := r.len(); n > 0 {
		if p := r.at(n - 1); p.slots < pieceSlots && p.bytes+bytes <= pieceBytes {
			p.through, p.slots, p.bytes = s, p.slots+1, p.bytes+bytes
			return
		}
	}
	r.push(piece{s, 1, bytes})
}

// cut forgets what is truncated.
func (t *tail) cut(through Slot) {
	for _, r := range [...]*ring[piece]{&t.found, &t.pieces} {
		for r.len() > 0 && r.at(0).through <= through {
			r.pop()
		}
	}
}

// excess returns the slot through which the log must be truncated so that no more than keep bytes stay at or below
// slot own; 0 if they are fewer already.
func (t *tail) excess(own Slot, keep int) Slot {
	over := -keep
	t.each(own, func(p *piece) bool {
		over += p.bytes
		return true
	})
	through := Slot(0)
	t.each(own, func(p *piece) bool {
		if over <= 0 {
			return false
		}
		over -= p.bytes
		through = p.through
		return true
	})
	return through
}

// each calls f with the pieces at or below slot own, from the oldest, until it returns false.
func (t *tail) each(own Slot, f func(*piece) bool) {
	for _, r := range [...]*ring[piece]{&t.found, &t.pieces} {
		for i := range r.len() {
			if p := r.at(i); p.through > own || !f(p) {
				return
			}
		}
	}
}

// measure reads the next page of what an earlier run has left.
func (l *entryLog) measure(pageBytes int) error {
	t := &l.tail
	from := max(t.measured, l.truncated) + 1
	if from > t.left {
		return nil
	}
	page, _, err := l.readDisk(from, t.left, pageBytes)
	if err != nil {
		return err
	}
	for _, e := range page {
		gather(&t.found, e.Slot, recordBytes+len(e.Value))
	}
	t.measured = page[len(page)-1].Slot
	return nil
}

func (t *tail) clone() tail {
	n := *t
	n.found, n.pieces = t.found.clone(), t.pieces.clone()
	return n
}
