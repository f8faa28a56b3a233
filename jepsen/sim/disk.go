package sim

import (
	"errors"
	"fmt"
	"time"

	"tenure/internal/ident"
	"tenure/kv"
	"tenure/lease/named"
	"tenure/multipaxos"
	"tenure/storage/journal"
)

var errRot = errors.New("sim: a record fails its checksum")

// disk is what a node finds again after a crash: the journal at the level of sectors, log.db and state.db at that of
// records. Nothing reaches it but through a commit that has ended; see node.lose.
type disk struct {
	store      ident.StoreID
	members    ident.Membership // zero: it is no member's
	restart    uint64
	quarantine time.Duration
	bucket     named.Bucket // of named leases, with what they owe (N4)
	marks      multipaxos.Durable
	entries    map[multipaxos.Slot]multipaxos.Entry // never ranged over
	stateDB    *kv.MemStateDB
	parted     *kv.Checkpoint // a part of it is in the state database; nil: of none
	received   *snapshot      // whole and durable, to be installed by the next start; nil: none

	file    *journalFile
	ring    *journal.Ring
	home    home
	pending []journal.Record // in the journal and not at home
	refused error            // the journal is damaged: the node must stay out

	rotSlot    multipaxos.Slot // this record is bad; 0: none
	rotStateDB bool
	noticed    bool // a bad record was read, and the error given out
}

func newDisk(store ident.StoreID) *disk {
	d := &disk{
		store: store, entries: map[multipaxos.Slot]multipaxos.Entry{}, stateDB: kv.NewMemStateDB(),
		file: &journalFile{flipped: -1}, home: home{entries: map[multipaxos.Slot]multipaxos.Entry{}},
	}
	if err := d.openRing(); err != nil {
		panic(fmt.Sprintf("sim: an empty journal: %v", err))
	}
	return d
}

// Entries implements multipaxos.Reader.
func (d *disk) Entries(from, through multipaxos.Slot, maxBytes int) (out []multipaxos.Entry, err error) {
	from, through = max(from, d.marks.Truncated+1), min(through, d.marks.Last)
	for size := 0; from <= through && (size < maxBytes || len(out) == 0); from++ {
		e, ok := d.entries[from]
		if !ok {
			continue
		}
		if from == d.rotSlot {
			d.noticed = true
			return nil, errRot
		}
		out = append(out, e)
		size += len(e.Value)
	}
	return out, nil
}

// View and Loaded implement kv.Source.
func (d *disk) View() (kv.StateDB, error) {
	if d.rotStateDB {
		d.noticed = true
		return nil, errRot
	}
	return d.stateDB.View()
}

func (d *disk) Loaded() (slot uint64, meta []byte, err error) { return d.stateDB.Loaded() }

// mergePart makes n changes of f durable, and f in the redo file before.
func (d *disk) mergePart(f *kv.Checkpoint, n int) {
	d.stateDB.MergeSome(f, n)
	d.parted = f
}

// merge makes all of f durable.
func (d *disk) merge(f *kv.Checkpoint) {
	d.stateDB.Merge(f)
	d.parted = nil
}

// resume makes the rest of a checkpoint durable that was cut off, as storage.Open does.
func (d *disk) resume() {
	if d.parted != nil {
		d.merge(d.parted)
	}
}

// checkpointed returns the slot of the durable state database.
func (d *disk) checkpointed() multipaxos.Slot {
	slot, _, _ := d.stateDB.Loaded()
	return multipaxos.Slot(slot)
}

// commit makes one Persist durable. The error says what is wrong with one that storage would refuse to write.
func (d *disk) commit(p *multipaxos.Persist) error {
	m := &d.marks
	switch {
	case !p.Promised.IsZero() && p.Promised.Less(m.Promised):
		return fmt.Errorf("persist %d lowers the promise from %v to %v", p.Seq, m.Promised, p.Promised)
	case p.Chosen != 0 && p.Chosen < m.Chosen:
		return fmt.Errorf("persist %d lowers the chosen mark from %d to %d", p.Seq, m.Chosen, p.Chosen)
	case p.Truncate > d.checkpointed():
		return fmt.Errorf("persist %d truncates through slot %d, and the state database holds %d", p.Seq, p.Truncate,
			d.checkpointed())
	}
	for _, e := range p.Entries {
		if e.Slot <= m.Truncated {
			return fmt.Errorf("persist %d writes into slot %d, truncated through %d", p.Seq, e.Slot, m.Truncated)
		}
		d.entries[e.Slot] = e
		m.Last = max(m.Last, e.Slot)
	}
	m.Promised = m.Promised.Max(p.Promised)
	for s := m.Truncated + 1; s <= p.Truncate; s++ {
		delete(d.entries, s)
	}
	m.Truncated = max(m.Truncated, p.Truncate)
	m.Chosen = max(m.Chosen, p.Chosen, m.Truncated)
	m.Last = max(m.Last, m.Truncated)
	return nil
}

// rotten reports whether anything on the disk is bad.
func (d *disk) rotten() bool {
	return d.rotSlot != 0 || d.rotStateDB || d.file.flipped >= 0 || d.refused != nil
}

// startRecord makes the record of a start durable.
func (d *disk) startRecord(quarantine time.Duration, b named.Bucket) {
	d.restart++
	d.touchHome()
	d.quarantine, d.bucket = quarantine, b
}
