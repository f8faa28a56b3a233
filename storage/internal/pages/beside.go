package pages

// CheckSiblings reads the pages beside those on the path, which bbolt may join with them after a deletion. The cursor
// is one of ResetToWrite.
func (c *Cursor) CheckSiblings() error {
	for k := range c.levels {
		if c.levels[k].leaf {
			return nil
		}
		if err := c.eachBeside(k, func(id uint64) error {
			if id < c.highWater && c.seen.has(id) {
				return nil
			}
			p, err := c.readBeside(id)
			if err != nil {
				return err
			}
			for j := p.id; j <= p.id+p.more; j++ {
				c.seen.set(j)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// Leaf describes the leaf at the position of a cursor.
type Leaf struct {
	ID      uint64 // its page
	Bytes   int64  // of all its pages
	Records int
	Depth   int // pages on the way to it, itself included
}

// Leaf describes the leaf at the position.
func (c *Cursor) Leaf() Leaf {
	p := &c.levels[len(c.levels)-1].page
	return Leaf{ID: p.id, Bytes: c.bytesOf(p), Records: p.count(), Depth: len(c.levels)}
}

// LargestBeside returns the bytes of the larger one of the leaves on both sides of the position, 0 if there is none.
func (c *Cursor) LargestBeside() (most int64, err error) {
	n := len(c.levels)
	if n < 2 {
		return 0, nil
	}
	err = c.eachBeside(n-2, func(id uint64) error {
		p, err := c.readBeside(id)
		if err != nil {
			return err
		}
		most = max(most, c.bytesOf(&p))
		return nil
	})
	return most, err
}

// bytesOf returns the bytes of p with its overflow.
func (c *Cursor) bytesOf(p *page) int64 { return int64(p.more+1) * int64(c.file.pageBytes) }

// eachBeside calls fn with the pages on both sides of the child that level k of the path leads to.
func (c *Cursor) eachBeside(k int, fn func(id uint64) error) error {
	l := &c.levels[k]
	for _, i := range []int{l.i - 1, l.i + 1} {
		if i < 0 || i >= l.page.count() {
			continue
		}
		_, id, err := l.page.branchElement(i)
		if err != nil {
			return err
		}
		if err := fn(id); err != nil {
			return err
		}
	}
	return nil
}

// readBeside reads a page that is not on the path, into a buffer of its own.
func (c *Cursor) readBeside(id uint64) (page, error) {
	if len(c.beside) < c.file.pageBytes {
		c.beside = make([]byte, c.file.pageBytes)
	}
	return c.file.read(id, c.highWater, c.beside)
}
