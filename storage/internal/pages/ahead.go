package pages

// aheadBytes bounds what a scan reads at a time. A call for one page costs as much as copying 16 of them.
const aheadBytes = 32 << 10

// ahead has copies of pages in a row, which a scan will come to. They are checked only when it does.
type ahead struct {
	buf   []byte
	first uint64
	n     uint64 // pages in buf, from first on
	next  int    // how many pages are worth reading at once: more, the longer a scan is
}

func (a *ahead) reset() { a.n, a.next = 0, 1 }

// page returns the copy of page id, or nil.
func (a *ahead) page(id uint64, pageBytes int) []byte {
	if id < a.first || id-a.first >= a.n {
		return nil
	}
	return a.buf[int(id-a.first)*pageBytes:][:pageBytes]
}

// readAhead reads the child of l at its position and those behind it in the direction of a scan, as far as they lie in
// a row in the file. It has no errors: the scan itself reads what is not in c.ahead.
func (c *Cursor) readAhead(l *level, id uint64, direction int) {
	a, pageBytes := &c.ahead, c.file.pageBytes
	if c.seen != nil || a.page(id, pageBytes) != nil || c.file.cached(id) != nil {
		return
	}
	a.next = max(1, min(2*a.next, aheadBytes/pageBytes))
	n := 1
	for n < a.next {
		i := l.i + direction*n
		if i < 0 || i >= l.page.count() {
			break
		}
		if _, child, err := l.page.branchElement(i); err != nil || child != id+uint64(direction*n) {
			break
		}
		n++
	}
	first := id
	if direction < 0 {
		first = id - uint64(n-1)
	}
	a.n = 0
	if n == 1 || first < 2 || first+uint64(n) > c.highWater {
		return
	}
	if len(a.buf) < aheadBytes {
		a.buf = make([]byte, aheadBytes)
	}
	if _, err := c.file.file.ReadAt(a.buf[:n*pageBytes], int64(first)*int64(pageBytes)); err == nil {
		a.first, a.n = first, uint64(n)
	}
}
