package acceptor

import (
	"fmt"
	"io"

	"tenure/multipaxos"
	"tenure/storage/internal/pages"
	"tenure/storage/internal/sealed"
)

// Content is what a whole reading of log.db finds of the log: everything but the entries' values.
type Content struct {
	Marks Marks
	First multipaxos.Slot // lowest slot with an entry, 0 if there is none
	sums  *slotSums       // of the entries
	txid  uint64          // of the transaction
}

// ReadContent reads and checks all of log.db. Gaps between entries are no damage, since an acceptor need not have been
// asked about every slot; an entry that is gone shows in the digest. The records of the node, of which all must be
// there, are decoded into the values of node.
func ReadContent(r io.ReaderAt, size int64, node []NodeRecord) (*Content, error) {
	m, err := pages.NewestMeta(r, size)
	if err != nil {
		return nil, err
	}
	c := &Content{txid: m.TxID}
	var found sealed.Digest
	var last multipaxos.Slot
	sums := new(slotSums).edit()
	records := map[string]func(key, record []byte) error{
		acceptorBucket + "/" + string(marksKey): func(k, v []byte) error {
			return acceptorSeed.OpenInto(k, v, &c.Marks)
		},
	}
	for _, n := range node {
		records[NodeBucket+"/"+string(n.Key)] = func(k, v []byte) error { return nodeSeed.OpenInto(k, v, n.Value) }
	}
	w := pages.Walker{R: r, Meta: m, Visit: func(bucket string, key, record []byte) error {
		if bucket == EntryBucket {
			e, err := OpenEntry(key, record)
			if err != nil {
				return err
			}
			if found.Count == 0 {
				c.First = e.Slot
			}
			found.Add(record)
			sums.set(e.Slot, record)
			last = e.Slot
			return nil
		}
		name := bucket + "/" + string(key)
		read := records[name]
		if read == nil {
			return fmt.Errorf("a record %q that nobody wrote, or a second one", name)
		}
		delete(records, name)
		if err := read(key, record); err != nil {
			return fmt.Errorf("the record %s: %w", name, err)
		}
		return nil
	}}
	if err := w.Walk(); err != nil {
		return nil, err
	}
	if len(records) > 0 {
		return nil, fmt.Errorf("%d of its own records are missing", len(records))
	}
	c.sums = sums.done()
	return c, c.check(found, last)
}

// check compares the marks with the entries that are there.
func (c *Content) check(found sealed.Digest, last multipaxos.Slot) error {
	m := c.Marks
	switch {
	case found != m.Entries:
		return fmt.Errorf("it holds %d entries and should hold %d, or not these", found.Count, m.Entries.Count)
	case m.Last < m.Truncated || last > m.Last || (m.Last > m.Truncated && last != m.Last):
		return fmt.Errorf("its last entry is in slot %d and should be in slot %d", last, m.Last)
	}
	return nil
}
