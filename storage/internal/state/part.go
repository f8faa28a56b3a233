package state

import (
	"iter"
	"slices"

	"tenure/kv"
	"tenure/storage/internal/sealed"
	"tenure/storage/internal/space"
)

// part is the next piece of a checkpoint.
type part struct {
	n    int   // changes
	need int64 // bytes of new pages that it writes, about
	run  int64 // bytes of the largest row of pages among them, about
	// measured: need counts what lies beside the changes. It does where space was short.
	measured bool
}

// nextPart returns the part with which changes begin.
//
// The size of the changes is not the size of the writes: a deletion of a few bytes makes bbolt write the rest of its
// leaf anew, megabytes with large values. So where space is short, nextPart looks at the records beside each change,
// and takes as many changes as the free pages can hold. The pages that they replace are free for the next part.
func (r *room) nextPart(changes []kv.Change) part {
	limit := r.options.PartBytes
	free, short := r.checkpointSpace()
	if !short {
		return takePart(changes, limit, changeBytes)
	}
	limit = min(limit, max(free/8, space.MinCheckpointBytes))
	v, err := r.file.pin()
	if err != nil {
		p := takePart(changes, limit, changeBytes) // the merge finds out
		p.measured = true
		return p
	}
	defer v.Close()
	w := newRewrite(r.file.checked, v.Meta)
	p := takePart(changes, limit, func(c *kv.Change) (need, row int64) {
		need, row, err := w.add(c)
		if err != nil { // the merge finds out
			return changeBytes(c)
		}
		return need, row
	})
	st := r.file.db.Stats()
	p.need += int64(st.FreePageN+st.PendingPageN) * 8 // the free list
	p.measured = true
	return p
}

// partChanges is the most changes of one part. bbolt has each page that a transaction changes in memory, and keys at
// random places of a large state database seldom share a page. Then a change costs some 5 KiB of memory, however short
// it is, and a part 10 MiB.
const partChanges = 2048

// batch is changes of a checkpoint that were taken in, and not merged yet.
type batch struct {
	changes []kv.Change
	bytes   int64
	arena   sealed.Arena // what their bytes are in; its chunks go with them
}

// add takes a copy of c in.
func (b *batch) add(c kv.Change) {
	text := append(append(b.arena.Alloc(len(c.Key)+len(c.Value)), c.Key...), c.Value...)
	c.Key = text[:len(c.Key):len(c.Key)]
	if c.Value != nil {
		c.Value = text[len(c.Key):]
	}
	n, _ := changeBytes(&c)
	b.changes, b.bytes = append(b.changes, c), b.bytes+n
}

// full reports whether the changes are enough for a part of partBytes.
func (b *batch) full(partBytes int64) bool {
	return b.bytes >= partBytes || len(b.changes) >= partChanges
}

// drop forgets the first n changes.
func (b *batch) drop(n int) {
	for i := range b.changes[:n] {
		size, _ := changeBytes(&b.changes[i])
		b.bytes -= size
	}
	b.changes = slices.Delete(b.changes, 0, n)
}

// onePart returns copies of changes if they may be one part.
func (s *DB) onePart(changes iter.Seq[kv.Change]) (all []kv.Change, ok bool) {
	var b batch
	for c := range changes {
		if b.full(s.options.PartBytes) {
			return nil, false
		}
		b.add(c)
	}
	return b.changes, true
}

// changeBytes returns the bytes of c, without what lies beside it.
func changeBytes(c *kv.Change) (need, row int64) {
	n := int64(len(c.Key) + len(c.Value))
	return n, n
}

// takePart takes changes as long as they need less than limit, at least one.
func takePart(changes []kv.Change, limit int64, bytes func(*kv.Change) (need, row int64)) (p part) {
	for p.n < len(changes) && p.need < limit {
		need, row := bytes(&changes[p.n])
		p.need += need
		p.run = max(p.run, row)
		p.n++
	}
	p.need += partOverhead
	return p
}

// partOverhead is about what a transaction writes besides its leaves and the free list: the buckets, the marks.
const partOverhead = 128 << 10
