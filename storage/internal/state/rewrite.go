package state

import (
	"bytes"

	"tenure/kv"
	"tenure/storage/internal/pages"
)

// rewrite estimates how much bbolt writes anew for the changes of one transaction. The largest part is the whole leaf
// of each changed key. If a deletion leaves little in a leaf, bbolt joins it with the leaf beside it and writes that
// too. With large values a leaf holds two to four records, whatever their size.
type rewrite struct {
	cursor    *pages.Cursor
	pageBytes int64
	kind      kv.RecordKind
	root      pages.Bucket
	entered   bool
	leaf      leafRewrite
}

// leafRewrite is the leaf of the last change.
type leafRewrite struct {
	id      uint64
	bytes   int64 // of the leaf, and of the one that is joined with it
	left    int64 // bytes that the changes leave in it, at least
	records int   // that they leave in it
	added   int64 // bytes of values that they put into it
	largest int64 // of these values
	joined  bool
}

func newRewrite(c *pages.File, m *pages.Meta) *rewrite {
	r := &rewrite{cursor: new(pages.Cursor), pageBytes: int64(m.PageBytes)}
	r.cursor.Reset(c, m)
	return r
}

// add returns about how many bytes of new pages c needs beyond those of the changes before it. row is the size of the
// row of pages that the leaf of c may need. Changes come in order.
func (r *rewrite) add(c *kv.Change) (need, row int64, err error) {
	size := int64(len(c.Key) + len(c.Value))
	if !r.entered || r.kind != c.Kind {
		if r.root, err = r.cursor.FindBucket(bucketNames[c.Kind]); err != nil {
			return 0, 0, err
		}
		r.entered, r.kind, r.leaf = true, c.Kind, leafRewrite{}
	}
	if !r.root.Found {
		return size + 3*r.pageBytes, size + r.pageBytes, nil
	}
	if err := r.cursor.Seek(&r.root, c.Key); err != nil {
		return 0, 0, err
	}
	need = size + r.pageBytes // a value may come to lie in pages of its own
	l := r.cursor.Leaf()
	if r.leaf.bytes == 0 || r.leaf.id != l.ID {
		r.leaf = leafRewrite{id: l.ID, bytes: l.Bytes, left: l.Bytes, records: l.Records}
		need += l.Bytes + int64(2*l.Depth)*r.pageBytes // the branches above it, and those beside them
	}
	if err := r.leaf.change(r.cursor, c); err != nil {
		return 0, 0, err
	}
	if c.Value == nil && !r.leaf.joined && (r.leaf.records <= 1 || r.leaf.left < 2*r.pageBytes) {
		beside, err := r.cursor.LargestBeside()
		if err != nil {
			return 0, 0, err
		}
		r.leaf.joined = true
		r.leaf.bytes += beside
		need += beside
	}
	const most = 4 // records in a leaf that is larger than a page
	return need, r.leaf.bytes + min(r.leaf.added, most*r.leaf.largest) + r.pageBytes, nil
}

// change counts c, for whose key at has looked.
func (l *leafRewrite) change(at *pages.Cursor, c *kv.Change) error {
	if at.Inside() {
		key, record, err := at.Record()
		if err != nil {
			return err
		}
		if bytes.Equal(key, c.Key) {
			l.left -= int64(len(key) + len(record))
			l.records--
		}
	}
	if c.Value != nil {
		n := int64(len(c.Key) + len(c.Value))
		l.left += n
		l.records++
		l.added += n
		l.largest = max(l.largest, n)
	}
	return nil
}
