package pages

import (
	"errors"
	"fmt"
	"io"
)

// Walker goes through the tree of one transaction, with plain reads and a bound on everything. It checks that every
// page is inside the file, of the right kind and used once, and that keys rise. It takes a bit of memory for each page
// of the file, and a page for each level of the tree. A Walker is used once.
type Walker struct {
	R     io.ReaderAt
	Meta  Meta
	seen  bitmap
	pages [maxTreeDepth][]byte
	// Skeleton leaves out all leaves but the first under each branch: a hundredth of the reading.
	Skeleton bool
	// Visit is called for each record of each bucket, in the order of bucket and key; the slices are good until it
	// returns. It may be nil.
	Visit func(bucket string, key, record []byte) error
	// check is called with each page, its overflow included. It may be nil.
	check func(id uint64, data []byte) error
	// free is called with each page of the free list. It may be nil.
	free func(id uint64)
	// Skip is called with what is wrong with a page or an element, and the walk goes on behind it. Nil: the walk ends
	// with the first such error. It does not get ErrStop, with which Visit ends the walk.
	Skip func(err error)
	// Pause is called before each page, so that a long walk can be ended. It may be nil.
	Pause func() error
}

// Walk reads a bbolt file of size bytes of another program. It calls visit with each record of each bucket, in the
// order of bucket and key; key and record are valid until visit returns. Nothing may write to the file meanwhile. It
// returns an error for a file that is damaged or not of bbolt. It cannot tell whether keys and records are as they were
// written: the file has no checksums of them.
func Walk(r io.ReaderAt, size int64, visit func(bucket string, key, record []byte) error) error {
	m, err := NewestMeta(r, size)
	if err != nil {
		return err
	}
	w := Walker{R: r, Meta: m, Visit: visit}
	return w.Walk()
}

// Walk goes through everything that the transaction of Meta can reach.
func (w *Walker) Walk() error {
	w.seen = make(bitmap, w.Meta.HighWater/64+1)
	w.seen.set(0)
	w.seen.set(1)
	if _, err := w.tree("", w.Meta.root, nil, nil, 0); w.pass(err) != nil {
		return err
	}
	return w.pass(w.freelist())
}

// ErrStop, returned by Visit, ends a walk early.
var ErrStop = errors.New("seen enough")

// pass returns err unless the walk goes on after it.
func (w *Walker) pass(err error) error {
	if err == nil || w.Skip == nil || errors.Is(err, ErrStop) {
		return err
	}
	w.Skip(err)
	return nil
}

// claim notes that pages id to id+more are in use, by one page.
func (w *Walker) claim(id, more uint64) error {
	if id >= w.Meta.HighWater || more >= w.Meta.HighWater-id {
		return fmt.Errorf("page %d is beyond the last page", id)
	}
	for i := id; i <= id+more; i++ {
		if w.seen.has(i) {
			return fmt.Errorf("page %d is used twice", i)
		}
		w.seen.set(i)
	}
	return nil
}

// load reads page id, with its overflow, into the buffer of a level.
func (w *Walker) load(id uint64, level int) (page, error) {
	if w.Pause != nil {
		if err := w.Pause(); err != nil {
			return page{}, err
		}
	}
	if id >= w.Meta.HighWater {
		return page{}, fmt.Errorf("page %d is beyond the last page", id)
	}
	size := w.Meta.PageBytes
	if len(w.pages[level]) < size {
		w.pages[level] = make([]byte, size)
	}
	buf := w.pages[level][:size]
	if _, err := w.R.ReadAt(buf, int64(id)*int64(size)); err != nil {
		return page{}, fmt.Errorf("page %d cannot be read: %w", id, err)
	}
	p := page{id: id, data: buf, more: uint64(order.Uint32(buf[12:]))}
	if got := order.Uint64(buf); got != id {
		return page{}, fmt.Errorf("page %d calls itself page %d", id, got)
	}
	if err := w.claim(id, p.more); err != nil {
		return page{}, err
	}
	if p.more > 0 {
		p.data = make([]byte, int(p.more+1)*size) // bounded by the file: claim has checked it
		if _, err := w.R.ReadAt(p.data, int64(id)*int64(size)); err != nil {
			return page{}, fmt.Errorf("page %d cannot be read: %w", id, err)
		}
	}
	if w.check == nil {
		return p, nil
	}
	return p, w.check(id, p.data)
}

// tree checks the subtree at page id, whose keys are in [low, high); nil is no bound. It reports whether the page is a
// leaf. An empty bucket name is the root, whose elements are buckets.
func (w *Walker) tree(bucket string, id uint64, low, high []byte, level int) (leaf bool, err error) {
	if level == maxTreeDepth {
		return false, fmt.Errorf("page %d lies deeper than a tree can be", id)
	}
	p, err := w.load(id, level)
	if err != nil {
		return false, err
	}
	switch p.flags() {
	case flagLeaf:
		return true, w.leaf(bucket, p, low, high, level)
	case flagBranch:
		return false, w.branch(bucket, p, low, high, level)
	}
	return false, fmt.Errorf("page %d has flags %#x: neither branch nor leaf", id, p.flags())
}

func (w *Walker) branch(bucket string, p page, low, high []byte, level int) error {
	if p.count() == 0 {
		return fmt.Errorf("branch page %d is empty", p.id)
	}
	overLeaves := false
	for i := range p.count() {
		key, child, err := p.branchElement(i)
		if err != nil {
			return err
		}
		if err := rising(p.id, i, low, key, high); err != nil {
			return err
		}
		next := high
		if i+1 < p.count() {
			if next, _, err = p.branchElement(i + 1); err != nil {
				return err
			}
		}
		if w.Skeleton && overLeaves {
			err = w.claim(child, 0)
		} else {
			overLeaves, err = w.tree(bucket, child, key, next, level+1)
		}
		if err = w.pass(err); err != nil {
			return err
		}
		low = key
	}
	return nil
}

func (w *Walker) leaf(bucket string, p page, low, high []byte, level int) error {
	for i := range p.count() {
		flags, key, value, err := p.leafElement(i)
		if err != nil {
			return err
		}
		if err := rising(p.id, i, low, key, high); err != nil {
			if err = w.pass(err); err != nil {
				return err
			}
			continue
		}
		low = key
		switch {
		case (flags == flagBucket) != (bucket == "") || flags > flagBucket:
			return fmt.Errorf("page %d, element %d has flags %#x", p.id, i, flags)
		case bucket == "":
			err = w.bucket(p.id, string(key), value, level)
		case w.Visit != nil:
			err = w.Visit(bucket, key, value)
		}
		if err = w.pass(err); err != nil {
			return err
		}
	}
	return nil
}

// bucket checks the bucket whose header is value.
func (w *Walker) bucket(id uint64, name string, value []byte, level int) error {
	if name == "" || len(value) < bucketBytes {
		return fmt.Errorf("page %d holds a bucket without name or header", id)
	}
	if root := order.Uint64(value); root != 0 {
		_, err := w.tree(name, root, nil, nil, level+1)
		return err
	}
	inline := page{id: id, data: value[bucketBytes:]}
	if len(inline.data) < pageHeaderBytes || inline.flags() != flagLeaf {
		return fmt.Errorf("page %d holds bucket %q without its leaf", id, name)
	}
	return w.leaf(name, inline, nil, nil, level)
}

// freelist checks that no free page is in use: it would be written over.
func (w *Walker) freelist() error {
	if w.Meta.freelist == noFreelist {
		return nil
	}
	p, err := w.load(w.Meta.freelist, 0)
	if err != nil {
		return err
	}
	if p.flags() != flagFreelist {
		return fmt.Errorf("page %d has flags %#x and should be the free list", p.id, p.flags())
	}
	return eachFree(p, func(id uint64) error {
		if err := w.claim(id, 0); err != nil {
			return fmt.Errorf("the free list in page %d: %w", p.id, err)
		}
		if w.free != nil {
			w.free(id)
		}
		return nil
	})
}

// eachFree calls fn with each page that the free list in p has.
func eachFree(p page, fn func(id uint64) error) error {
	ids, n := p.data[pageHeaderBytes:], uint64(p.count())
	if n == 0xffff {
		n, ids = order.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids))/8 {
		return fmt.Errorf("the free list in page %d names more pages than it holds", p.id)
	}
	for i := range n {
		if err := fn(order.Uint64(ids[8*i:])); err != nil {
			return err
		}
	}
	return nil
}
