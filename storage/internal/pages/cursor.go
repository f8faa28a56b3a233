package pages

import (
	"bytes"
	"errors"
	"fmt"
)

// Bucket is where a bucket's records are in one transaction: in the tree under a page, or in a leaf inside the bucket's
// header.
type Bucket struct {
	Found  bool // there is a bucket of the name
	id     uint64
	inline page
}

// Cursor goes through a tree of one transaction. It looks only at pages that passed their checksums. Its leaf is in a
// buffer that the next leaf overwrites. One goroutine uses it, after Reset or ResetToWrite.
type Cursor struct {
	file      *File
	root      uint64 // page of the tree of buckets
	highWater uint64
	levels    []level
	buf       []byte
	beside    []byte // for a page beside the path
	large     parts  // of a leaf with overflow, instead of buf
	ahead     ahead  // leaves that a scan comes to next, instead of buf
	// seen notes the pages that were read. With it nothing is taken from the cache: bbolt will read the file itself.
	seen bitmap
}

// level is a page on the way to the position, and the element in it.
type level struct {
	page page
	leaf bool
	i    int
}

// Reset makes c a cursor of the transaction of m, which a view keeps. It keeps the buffers.
func (c *Cursor) Reset(file *File, m *Meta) {
	clear(c.levels[:cap(c.levels)])
	c.file, c.root, c.highWater, c.levels, c.seen = file, m.root, m.HighWater, c.levels[:0], nil
	if len(c.buf) < file.pageBytes {
		c.buf = make([]byte, file.pageBytes)
	}
	c.ahead.reset()
	if cap(c.large.buf) > pooledLeafBytes {
		c.large.buf = nil
	}
}

// ResetToWrite makes c a cursor of what was there before the transaction that file follows. The pages that it reads are
// checked again before that transaction becomes durable.
func (c *Cursor) ResetToWrite(file *File) {
	c.Reset(file, file.writer.meta)
	c.seen = file.writer.seen
}

// read reads page id. Overflow pages of a leaf are read only when they are needed: a value may be a thousand times as
// long as the wanted key beside it.
func (c *Cursor) read(id uint64) (page, error) {
	if c.seen != nil {
		return c.file.read(id, c.highWater, c.buf)
	}
	p, err := c.readFirst(id)
	switch {
	case err != nil || p.more == 0:
		return p, err
	case p.flags() == flagLeaf:
		return c.large.begin(c.file, p), nil
	}
	return c.file.read(id, c.highWater, c.buf)
}

// readFirst reads page id without its overflow, or takes the copy that was read ahead.
func (c *Cursor) readFirst(id uint64) (page, error) {
	data := c.ahead.page(id, c.file.pageBytes)
	if data == nil {
		return c.file.readFirst(id, c.highWater, c.buf)
	}
	if err := c.file.sums.check(id, data); err != nil {
		return page{}, err
	}
	return firstOf(id, c.highWater, data)
}

// load reads page id. keep says that the page is worth a place in the cache even if it is a leaf.
func (c *Cursor) load(id uint64, keep bool) (level, error) {
	if c.seen == nil {
		if data := c.file.cached(id); data != nil {
			p := page{id: id, data: data}
			return level{page: p, leaf: p.flags() == flagLeaf}, nil
		}
	}
	p, err := c.read(id)
	if err != nil {
		return level{}, err
	}
	if c.seen != nil {
		for i := p.id; i <= p.id+p.more; i++ {
			c.seen.set(i)
		}
	}
	switch p.flags() {
	case flagLeaf:
	case flagBranch:
		keep = true
	default:
		return level{}, fmt.Errorf("page %d has flags %#x: neither branch nor leaf", id, p.flags())
	}
	if keep && p.more == 0 {
		p.data = c.file.keep(id, p.data)
	}
	return level{page: p, leaf: p.flags() == flagLeaf}, nil
}

// push adds the page of a child; one that is on the same level of the path before it is not read again.
func (c *Cursor) push(id uint64, keep bool) (*level, error) {
	n := len(c.levels)
	if n == maxTreeDepth {
		return nil, fmt.Errorf("page %d lies deeper than a tree can be", id)
	}
	if n < cap(c.levels) {
		if was := c.levels[:n+1]; was[n].page.id == id {
			c.levels = was
			return &c.levels[n], nil
		}
	}
	l, err := c.load(id, keep)
	if err != nil {
		return nil, err
	}
	clear(c.levels[n:cap(c.levels)]) // a leaf further down was in the buffer
	c.levels = append(c.levels, l)
	return &c.levels[n], nil
}

// Seek moves to the first record with a key ≥ key, or, if there is none in its leaf, behind the leaf's last one: Step
// goes on from there.
func (c *Cursor) Seek(r *Bucket, key []byte) error {
	c.levels, c.ahead.next = c.levels[:0], 1
	if r.id == 0 {
		c.levels = append(c.levels, level{page: r.inline, leaf: true})
		return c.search(&c.levels[0], key)
	}
	return c.descend(r.id, key, false)
}

// descend goes from page id to the leaf in which key lies or would lie, and searches it there. keep is that of load.
func (c *Cursor) descend(id uint64, key []byte, keep bool) error {
	for {
		l, err := c.push(id, keep)
		if err != nil {
			return err
		}
		if err := c.search(l, key); err != nil || l.leaf {
			return err
		}
		if _, id, err = l.page.branchElement(l.i); err != nil {
			return err
		}
	}
}

// search moves l to the first element with a key ≥ key in a leaf, and to the last with a key ≤ key, or else the first,
// in a branch.
func (c *Cursor) search(l *level, key []byte) error {
	low, high := 0, l.page.count()
	for low < high {
		mid := int(uint(low+high) / 2)
		k, err := l.key(mid)
		if err != nil {
			return err
		}
		d := bytes.Compare(k, key)
		if d == 0 {
			l.i = mid
			return nil
		}
		if d < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if l.i = low; !l.leaf {
		l.i = max(0, low-1)
	}
	return nil
}

func (l *level) key(i int) (key []byte, err error) {
	if l.leaf {
		return l.page.leafKey(i)
	}
	key, _, err = l.page.branchElement(i)
	return key, err
}

// SeekLast moves behind the last record of the bucket.
func (c *Cursor) SeekLast(r *Bucket) error {
	c.levels = c.levels[:0]
	if r.id == 0 {
		c.levels = append(c.levels, level{page: r.inline, leaf: true, i: r.inline.count()})
		return nil
	}
	l, err := c.push(r.id, false)
	if err != nil {
		return err
	}
	l.i = l.page.count()
	return nil
}

// Step moves by one record, forwards if d is 1 and backwards if it is -1. At the end it leaves no position.
func (c *Cursor) Step(d int) error {
	for len(c.levels) > 0 {
		l := &c.levels[len(c.levels)-1]
		l.i += d
		switch {
		case l.i < 0 || l.i >= l.page.count():
			c.levels = c.levels[:len(c.levels)-1]
		case l.leaf:
			return nil
		default:
			_, id, err := l.page.branchElement(l.i)
			if err != nil {
				return err
			}
			c.readAhead(l, id, d)
			child, err := c.push(id, false)
			if err != nil {
				return err
			}
			child.i = -1
			if d < 0 {
				child.i = child.page.count()
			}
		}
	}
	return nil
}

// Inside reports whether the position is at a record, and not behind the last one of its leaf or at no place at all.
func (c *Cursor) Inside() bool {
	if len(c.levels) == 0 {
		return false
	}
	l := &c.levels[len(c.levels)-1]
	return l.leaf && l.i >= 0 && l.i < l.page.count()
}

// Record returns the record at the position, with its key. The bytes are good until the cursor moves.
func (c *Cursor) Record() (key, record []byte, err error) {
	l := &c.levels[len(c.levels)-1]
	flags, key, record, err := l.page.leafElement(l.i)
	if err == nil && flags != 0 {
		err = errors.New("a bucket lies where a record should")
	}
	return key, record, err
}

// Find returns the record of key, or nil. The bytes are good until the cursor moves.
func (c *Cursor) Find(r *Bucket, key []byte) ([]byte, error) {
	if err := c.Seek(r, key); err != nil || !c.Inside() {
		return nil, err
	}
	l := &c.levels[len(c.levels)-1]
	if at, err := l.key(l.i); err != nil || !bytes.Equal(at, key) {
		return nil, err
	}
	_, record, err := c.Record()
	return record, err
}

// FindBucket finds the bucket called name. Its result does not change when the cursor moves.
func (c *Cursor) FindBucket(name []byte) (Bucket, error) {
	c.levels = c.levels[:0]
	if err := c.descend(c.root, name, true); err != nil || !c.Inside() {
		return Bucket{}, err
	}
	l := &c.levels[len(c.levels)-1]
	flags, at, header, err := l.page.leafElement(l.i)
	switch {
	case err != nil || !bytes.Equal(at, name):
		return Bucket{}, err
	case flags != flagBucket || len(header) < bucketBytes:
		return Bucket{}, fmt.Errorf("bucket %q has no header", name)
	}
	r := Bucket{id: order.Uint64(header), Found: true}
	if r.id != 0 {
		return r, nil
	}
	r.inline = page{data: bytes.Clone(header[bucketBytes:])}
	if len(r.inline.data) < pageHeaderBytes || r.inline.flags() != flagLeaf {
		return Bucket{}, fmt.Errorf("bucket %q has no leaf in its header", name)
	}
	return r, nil
}
