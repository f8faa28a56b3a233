package storage

import (
	"bytes"
	"errors"

	"tenure/internal/oslimit"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/pages"
	"tenure/storage/internal/state"
)

// Entries calls fn with the readable entries of log.db in [from, through], in order of slots unless pages are
// misplaced, and then with those of the journal that are not truncated, which replace them. It calls skipped for what
// it cannot read. The value of an entry is valid until fn returns. If fn returns false, Entries reads no more.
func (x *Examination) Entries(from, through multipaxos.Slot, fn func(e multipaxos.Entry, inJournal bool) bool,
	skipped func(file string, err error)) {
	more := true
	tell := func(file string) func(error) {
		return func(err error) {
			if more {
				skipped(file, err)
			}
		}
	}
	salvage(x.files.LogPath(), func(bucket string, key, record []byte) error {
		if bucket != acceptor.EntryBucket {
			return nil
		}
		e, err := acceptor.OpenEntry(key, record)
		if err != nil || e.Slot < from || e.Slot > through {
			return err
		}
		if more = fn(e, false); !more {
			return pages.ErrStop
		}
		return nil
	}, tell(disk.LogName))
	if x.Journal == nil {
		tell(disk.JournalName)(errors.New("it was not read"))
		return
	}
	from = max(from, x.Journal.Durable.Truncated+1) // a record keeps its place after its entries are truncated
	for i := range x.Journal.records {
		for _, e := range x.Journal.records[i].Entries {
			if e.Slot >= from && e.Slot <= through && more {
				more = fn(e, true)
			}
		}
	}
}

// Records calls fn with the readable records of one kind of the state database, or of all kinds if kind is negative,
// whose keys begin with prefix, in order of kind and key unless pages are misplaced. It calls skipped for what it
// cannot read. key and value are valid until fn returns. If fn returns false, Records reads no more.
func (x *Examination) Records(kind int, prefix []byte, fn func(kind kv.RecordKind, key, value []byte) bool,
	skipped func(file string, err error)) {
	err := salvage(x.files.StatePath(), func(bucket string, key, record []byte) error {
		is, ok := state.KindOf(bucket)
		if !ok || kind >= 0 && int(is) != kind || !bytes.HasPrefix(key, prefix) {
			return nil
		}
		value, err := state.OpenRecord(is, key, record)
		if err != nil {
			return err
		}
		if !fn(is, key, value) {
			return pages.ErrStop
		}
		return nil
	}, func(err error) { skipped(disk.StateName, err) })
	if err != nil && !errors.Is(err, pages.ErrStop) {
		skipped(disk.StateName, err)
	}
}

// salvage visits the readable records of a bbolt file that may be damaged. Its memory is bounded like that of a walk.
func salvage(path string, visit func(bucket string, key, record []byte) error, skipped func(error)) error {
	f, err := oslimit.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := disk.Size(f)
	if err != nil {
		return err
	}
	m, err := pages.AnyMeta(f, size, skipped)
	if err != nil {
		skipped(err)
		return nil
	}
	w := pages.Walker{R: f, Meta: m, Visit: visit, Skip: skipped}
	return w.Walk()
}
