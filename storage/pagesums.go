package storage

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync/atomic"

	"tenure/storage/internal/disk"
)

// sumTable holds the checksum of each page of a file by its number, outside of the page, so that it shows any change of
// a page, an older copy of it included. One goroutine writes; any number reads at the same time. An entry changes only
// while its page is free, which is when bbolt writes to it. So no reader of a transaction sees the entry of another
// transaction.
type sumTable struct{ sums atomic.Pointer[[]uint32] }

// pageSum returns the checksum of page id; never 0.
func pageSum(id uint64, page []byte) uint32 {
	return max(1, crc32.Update(uint32(id)*0x9e3779b1, castagnoli, page))
}

// get returns the checksum of page id, or 0 if nobody has read or written the page.
func (t *sumTable) get(id uint64) uint32 {
	if p := t.sums.Load(); p != nil && id < uint64(len(*p)) {
		return atomic.LoadUint32(&(*p)[id])
	}
	return 0
}

// set notes the checksum of page id.
func (t *sumTable) set(id uint64, sum uint32) {
	p := t.sums.Load()
	if p == nil || id >= uint64(len(*p)) {
		larger := make([]uint32, max(1024, id+id/4+1))
		if p != nil {
			copy(larger, *p) // nobody else writes
		}
		p = &larger
		t.sums.Store(p)
	}
	atomic.StoreUint32(&(*p)[id], sum)
}

// check compares one page with its checksum.
func (t *sumTable) check(id uint64, page []byte) error {
	switch want := t.get(id); {
	case want == 0:
		return fmt.Errorf("page %d is in use and was never written", id)
	case want != pageSum(id, page):
		return fmt.Errorf("page %d fails its checksum", id)
	}
	return nil
}

// checkedFile reads pages of state.db into memory of this process and believes only those that pass their checksum. It
// reads with plain calls: a copy cannot change after it was checked, and a disk that cannot read is an error and no
// fault.
type checkedFile struct {
	path      string
	file      *os.File
	pageBytes int
	sums      sumTable
	cache     [cachedPages]atomic.Pointer[cachedPage]
	views     metaBook
	side      *sumsFile
	written   atomic.Int64 // bytes of whole pages, since the file was opened
	writer    writer       // of the checkpoint that runs
}

// cachedPages bounds the branch pages that are kept in memory: 2 MiB of them, enough for a million keys of 256 bytes.
const cachedPages = 512

// cachedPage is a checked copy of a page. It stays true whatever happens to the file, as long as its checksum is the
// page's; a copy that is out of date has another one.
type cachedPage struct {
	id   uint64
	sum  uint32
	data []byte
}

// read reads page id, with its overflow, in a transaction with highWater pages. Its data is in buf, which has space for
// a page, or in new memory if there is overflow.
func (c *checkedFile) read(id, highWater uint64, buf []byte) (page, error) {
	p, err := c.readFirst(id, highWater, buf)
	if err != nil || p.more == 0 {
		return p, err
	}
	p.data = append(make([]byte, 0, int(p.more+1)*c.pageBytes), p.data...)[:int(p.more+1)*c.pageBytes]
	return p, c.readPages(id+1, p.data[c.pageBytes:])
}

// readFirst reads page id without its overflow.
func (c *checkedFile) readFirst(id, highWater uint64, buf []byte) (page, error) {
	if id < 2 || id >= highWater {
		return page{}, fmt.Errorf("page %d is not among the %d pages of the file", id, highWater)
	}
	buf = buf[:c.pageBytes]
	if err := c.readPages(id, buf); err != nil {
		return page{}, err
	}
	p := page{id: id, data: buf, more: uint64(order.Uint32(buf[12:]))}
	if p.more >= highWater-id {
		return page{}, fmt.Errorf("page %d goes on behind the last page", id)
	}
	return p, nil
}

// readPages fills buf with the pages from id on and checks each.
func (c *checkedFile) readPages(id uint64, buf []byte) error {
	if n, err := c.file.ReadAt(buf, int64(id)*int64(c.pageBytes)); err != nil {
		if err == io.EOF {
			return fmt.Errorf("page %d is behind the end of the file: it was cut short", id+uint64(n/c.pageBytes))
		}
		return fmt.Errorf("page %d cannot be read: %w", id, disk.Plain(err))
	}
	return c.checkRun(id, buf)
}

// checkRun checks the pages from id on, which are in data.
func (c *checkedFile) checkRun(id uint64, data []byte) error {
	for ; len(data) > 0; id, data = id+1, data[c.pageBytes:] {
		if err := c.sums.check(id, data[:c.pageBytes]); err != nil {
			return err
		}
	}
	return nil
}

// noteRun notes the checksums of the pages from id on, which are in data.
func (c *checkedFile) noteRun(id uint64, data []byte) error {
	for ; len(data) > 0; id, data = id+1, data[c.pageBytes:] {
		c.sums.set(id, pageSum(id, data[:c.pageBytes]))
	}
	return nil
}

// noteMetas notes the checksums of the meta pages, which were checked by their own, and m, the newer one.
func (c *checkedFile) noteMetas(m *metaPage) error {
	buf := make([]byte, 2*c.pageBytes)
	if _, err := c.file.ReadAt(buf, 0); err != nil {
		return fmt.Errorf("the meta pages cannot be read: %w", disk.Plain(err))
	}
	c.views.note(m)
	c.views.settled.Store(m.txid)
	return c.noteRun(0, buf)
}

// cached returns the checked copy of a page, or nil.
func (c *checkedFile) cached(id uint64) []byte {
	p := c.cache[id%cachedPages].Load()
	if p == nil || p.id != id || p.sum != c.sums.get(id) {
		return nil
	}
	return p.data
}

// keep puts a copy of a page without overflow, which was just checked, into the cache, and returns the copy.
func (c *checkedFile) keep(id uint64, data []byte) []byte {
	p := &cachedPage{id: id, sum: pageSum(id, data), data: append([]byte(nil), data...)}
	c.cache[id%cachedPages].Store(p)
	return p.data
}
