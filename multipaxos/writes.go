package multipaxos

// writes gathers what this node must make durable into Persists, and knows which of them are durable.
type writes struct {
	seq     uint64 // last Persist begun
	open    Persist
	hasOpen bool   // open is seq's, and not yet taken
	durable uint64 // every Persist up to this one is durable
	owes    backlog

	chosen    Slot // the highest chosen mark in any Persist
	marks     marks
	markTicks int // since the chosen mark found no Persist to ride on
}

// marks knows which chosen mark is durable. Under load each Persist has a newer one; of those on their way to the disk
// the one that is followed and the newest are remembered.
type marks struct {
	durable          Slot // the highest that is known to be durable
	followed, newest marking
}

// marking is a chosen mark on its way to the disk.
type marking struct {
	seq  uint64 // its Persist; 0: none
	slot Slot
}

// put is told that a Persist has a mark.
func (m *marks) put(seq uint64, slot Slot) {
	m.newest = marking{seq, slot}
	if m.followed.seq == 0 {
		m.followed = m.newest
	}
}

// done is told that every Persist up to seq is durable.
func (m *marks) done(seq uint64) {
	switch {
	case m.followed.seq == 0 || seq < m.followed.seq:
	case seq >= m.newest.seq:
		*m = marks{durable: m.newest.slot}
	default:
		m.durable, m.followed = m.followed.slot, m.newest
	}
}

// persist returns the Persist being gathered; the next take closes it.
func (w *writes) persist() *Persist {
	if !w.hasOpen {
		w.seq++
		w.open = Persist{Seq: w.seq}
		w.hasOpen = true
	}
	return &w.open
}

// put adds e to the Persist being gathered and returns its number. old is what the log holds in e's slot, or nil: if it
// is in this Persist too, e replaces it there.
func (w *writes) put(e Entry, old *record) uint64 {
	p := w.persist()
	w.owes.add(len(e.Value))
	if old != nil && old.seq == p.Seq {
		for i := range p.Entries {
			if p.Entries[i].Slot == e.Slot {
				p.Entries[i] = e
				return p.Seq
			}
		}
	}
	p.Entries = append(p.Entries, e)
	return p.Seq
}

// flush closes and returns the Persist being gathered, if there is one. The chosen mark rides on a Persist that has
// another reason: all entries up to it are in this Persist or an earlier one, so it never becomes durable early.
func (w *writes) flush(chosen Slot) []Persist {
	if !w.hasOpen {
		return nil
	}
	if chosen > w.chosen {
		w.open.Chosen = chosen
		w.chosen = chosen
		w.markTicks = 0
		w.marks.put(w.seq, chosen)
	}
	taken := []Persist{w.open}
	w.owes.take(w.seq)
	w.open, w.hasOpen = Persist{}, false
	return taken
}

// taken reports whether Persist seq was given out, so that it can have become durable.
func (w *writes) taken(seq uint64) bool { return seq < w.seq || seq == w.seq && !w.hasOpen }

// done is told that every Persist up to seq is durable.
func (w *writes) done(seq uint64) {
	w.durable = seq
	w.marks.done(seq)
	w.owes.done(seq)
}

// tick gives the chosen mark a Persist of its own if there was none to ride on for chosenTicks.
func (w *writes) tick(chosen Slot) {
	if chosen == w.chosen {
		w.markTicks = 0
		return
	}
	if w.markTicks++; w.markTicks >= chosenTicks {
		w.persist()
	}
}

// backlog counts the entries stored here whose Persist is not durable yet. They are all in memory, so a stalled disk
// must stop everything that would add to them without limit: new proposals, and catching up from others. Peers bound
// their proposals themselves, because this node's votes are missing.
type backlog struct {
	slots, bytes int
	taken        ring[owed]
	open         owed // of the Persist being gathered
}

// owed is what one Persist carries.
type owed struct {
	seq          uint64
	slots, bytes int
}

func (b *backlog) add(bytes int) {
	b.open.slots++
	b.open.bytes += bytes
	b.slots++
	b.bytes += bytes
}

func (b *backlog) take(seq uint64) {
	if b.open.slots > 0 {
		b.open.seq = seq
		b.taken.push(b.open)
		b.open = owed{}
	}
}

func (b *backlog) done(seq uint64) {
	for b.taken.len() > 0 && b.taken.at(0).seq <= seq {
		o := b.taken.pop()
		b.slots -= o.slots
		b.bytes -= o.bytes
	}
}

// flooded reports whether so much waits for the disk that it must catch up first.
func (b *backlog) flooded(cfg *Config) bool {
	return b.slots >= 4*cfg.WindowEntries || b.bytes >= 2*cfg.WindowBytes
}
