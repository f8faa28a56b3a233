package pages

// pooledLeafBytes bounds the buffer for a leaf with overflow that a cursor keeps for the next one.
const pooledLeafBytes = 1 << 20

// parts is a leaf with overflow, with only some of its pages read. The other pages are not looked at.
type parts struct {
	file *File
	id   uint64
	buf  []byte
	have []bool // by page, the first one included
}

// begin returns the leaf p, whose first page was read, in the buffer of ps. The leaf that was there is lost.
func (ps *parts) begin(file *File, p page) page {
	n := int(p.more + 1)
	if bytes := n * file.pageBytes; cap(ps.buf) < bytes {
		ps.buf = make([]byte, bytes)
	} else {
		ps.buf = ps.buf[:bytes]
	}
	if cap(ps.have) < n {
		ps.have = make([]bool, n)
	}
	ps.have = ps.have[:n]
	clear(ps.have)
	ps.file, ps.id, ps.have[0] = file, p.id, true
	copy(ps.buf, p.data)
	p.data, p.parts = ps.buf, ps
	return p
}

// ensure reads those pages that bytes from to to of p lie in, unless they were read.
func (p page) ensure(from, to uint64) error {
	if p.parts == nil || from == to {
		return nil
	}
	return p.parts.read(int(from)/p.parts.file.pageBytes, int(to-1)/p.parts.file.pageBytes+1)
}

// read reads what is missing of the pages from first to before end, each run of them at once.
func (ps *parts) read(first, end int) error {
	for first < end {
		if ps.have[first] {
			first++
			continue
		}
		behind := first + 1
		for behind < end && !ps.have[behind] {
			behind++
		}
		pages := ps.buf[first*ps.file.pageBytes : behind*ps.file.pageBytes]
		if err := ps.file.readPages(ps.id+uint64(first), pages); err != nil {
			return err
		}
		for ; first < behind; first++ {
			ps.have[first] = true
		}
	}
	return nil
}
