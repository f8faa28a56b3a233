package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"tenure/multipaxos"
	"tenure/storage/journal"
)

// ringBytes is the size of a journal: small, so that it goes round often, and large commits do not fit.
const ringBytes = 32 * journal.SectorBytes

var errDying = errors.New("sim: the machine stops before the sync has ended")

// journalFile is the file of a journal. A crash keeps any of the sectors that were not synced.
type journalFile struct {
	disk, cached [ringBytes]byte // what is durable; what a reader gets
	dirty        []int           // sectors written and not synced, in that order
	dying        bool            // the next sync does not end
	flipped      int             // a bit of this byte is bad; below 0: none
}

// ReadAt, WriteAt and Sync implement journal.File.
func (f *journalFile) ReadAt(b []byte, off int64) (int, error) {
	if n := copy(b, f.cached[off:]); n < len(b) {
		return n, io.EOF
	}
	return len(b), nil
}

func (f *journalFile) WriteAt(b []byte, off int64) (int, error) {
	n := copy(f.cached[off:], b)
	for s := int(off) / journal.SectorBytes; s*journal.SectorBytes < int(off)+n; s++ {
		f.dirty = append(f.dirty, s)
	}
	return n, nil
}

func (f *journalFile) Sync() error {
	if f.dying {
		return errDying
	}
	for _, s := range f.dirty {
		f.settle(s)
	}
	f.dirty = f.dirty[:0]
	return nil
}

// settle makes a sector durable.
func (f *journalFile) settle(s int) {
	from, to := s*journal.SectorBytes, (s+1)*journal.SectorBytes
	copy(f.disk[from:to], f.cached[from:to])
	if f.flipped >= from && f.flipped < to {
		f.flipped = -1
	}
}

// flip makes a bit go bad.
func (f *journalFile) flip(at int, mask byte) {
	f.disk[at] ^= mask
	f.cached[at] ^= mask
	f.flipped = at
}

// crash loses each unsynced sector or keeps it; or all are kept, when only the process dies.
func (f *journalFile) crash(r *random) {
	process := r.chance(300)
	slices.Sort(f.dirty)
	for _, s := range slices.Compact(f.dirty) {
		if process || r.chance(500) {
			f.settle(s)
		}
	}
	f.dirty = f.dirty[:0]
	f.dying = false
	if !process {
		f.cached = f.disk
	}
}

// home is log.db: what was moved there out of the journal.
type home struct {
	marks   multipaxos.Durable
	entries map[multipaxos.Slot]multipaxos.Entry // never ranged over
	at      journal.Home
}

// move brings a record home, but for the entries that a later record replaces or truncates.
func (h *home) move(r *journal.Record, later []journal.Record) {
	last := h.marks.Last
	for _, e := range r.Entries {
		if !superseded(e.Slot, later) {
			h.entries[e.Slot] = e
			last = max(last, e.Slot)
		}
	}
	for s := h.marks.Truncated + 1; s <= r.Marks.Truncated; s++ {
		delete(h.entries, s)
	}
	h.marks = r.Marks
	h.marks.Last = max(last, h.marks.Truncated)
}

// superseded reports whether one of the later records has an entry in a slot, or truncates it.
func superseded(s multipaxos.Slot, later []journal.Record) bool {
	for i := range later {
		if s <= later[i].Marks.Truncated ||
			slices.ContainsFunc(later[i].Entries, func(e multipaxos.Entry) bool { return e.Slot == s }) {
			return true
		}
	}
	return false
}

// openRing reads the journal as a start does.
func (d *disk) openRing() error {
	var pending []journal.Record
	ring, err := journal.Open(d.file, ringBytes, d.store, d.home.at, func(r *journal.Record, _ journal.Place) error {
		pending = append(pending, *r)
		return nil
	})
	if err == nil {
		d.ring, d.pending = ring, pending
	}
	return err
}

// record returns what a commit of ps writes over marks.
func (d *disk) record(ps []multipaxos.Persist) *journal.Record {
	r := &journal.Record{Generation: d.home.at.Generation, Marks: d.marks}
	for i := range ps {
		p := &ps[i]
		m := &r.Marks
		for _, e := range p.Entries {
			m.Last = max(m.Last, e.Slot)
		}
		m.Promised = m.Promised.Max(p.Promised)
		m.Truncated = max(m.Truncated, p.Truncate)
		m.Chosen = max(m.Chosen, p.Chosen, m.Truncated)
		m.Last = max(m.Last, m.Truncated)
		r.Entries = append(r.Entries, p.Entries...)
	}
	return r
}

// write makes r durable: in the journal, or at home if it is too large.
func (d *disk) write(r *journal.Record) error {
	if journal.Size(r) > d.ring.Limit() {
		d.moveHome(d.ring.Last())
		d.home.move(r, nil)
		return nil
	}
	d.ring.Release(d.home.at.Journaled)
	r.Generation = d.home.at.Generation
	_, err := d.ring.Append(r)
	if errors.Is(err, journal.ErrFull) { // it waits for the mover
		d.moveHome(d.ring.Last())
		d.ring.Release(d.home.at.Journaled)
		_, err = d.ring.Append(r)
	}
	if err == nil {
		d.pending = append(d.pending, *r)
	}
	return err
}

// pendingBytes returns what the records that are not at home take of the journal.
func (d *disk) pendingBytes() (n int) {
	for i := range d.pending {
		n += journal.Size(&d.pending[i])
	}
	return n
}

// moveHome brings the records up to number home, in one transaction of log.db.
func (d *disk) moveHome(number uint64) {
	for len(d.pending) > 0 && d.pending[0].Number <= number {
		d.home.move(&d.pending[0], d.pending[1:])
		d.pending = d.pending[1:]
	}
	d.home.at.Journaled = max(d.home.at.Journaled, number)
	d.touchHome()
}

// touchHome is what every transaction of log.db does besides: it notes how far the journal is.
func (d *disk) touchHome() {
	d.home.at.Generation++
	d.home.at.Seen = d.home.at.Journaled
	if n := len(d.pending); n > 0 {
		d.home.at.Seen = d.pending[n-1].Number
	}
}

// compare returns an error that says how journal and home differ from what the process had been told is durable.
func (d *disk) compare() error {
	h := d.home.marks
	if _, ok := d.home.entries[h.Last]; !ok && h.Last > h.Truncated {
		return fmt.Errorf("log.db lacks its last entry, that of slot %d", h.Last)
	}
	marks, has := h, map[multipaxos.Slot]multipaxos.Entry{} // never ranged over
	for i := range d.pending {
		marks = d.pending[i].Marks
		for _, e := range d.pending[i].Entries {
			has[e.Slot] = e
		}
	}
	if marks != d.marks {
		return fmt.Errorf("its log comes back with %+v and had %+v", marks, d.marks)
	}
	for s := d.marks.Truncated + 1; s <= d.marks.Last; s++ {
		had, ok := d.entries[s]
		e, there := has[s]
		if !there {
			e, there = d.home.entries[s]
		}
		if ok != there || had.Ballot != e.Ballot || !bytes.Equal(had.Value, e.Value) {
			return fmt.Errorf("slot %d comes back with %v of %d bytes and had %v of %d bytes", s, e.Ballot,
				len(e.Value), had.Ballot, len(had.Value))
		}
	}
	return nil
}
