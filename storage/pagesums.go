package storage

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

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

// follow makes db note the checksum of each page that it writes.
func (t *sumTable) follow(db *bolt.DB) error {
	pageBytes := int64(db.Info().PageSize)
	return interceptWrites(db, func(write writeAt, b []byte, off int64) (int, error) {
		for at := int64(0); at+pageBytes <= int64(len(b)); at += pageBytes {
			id := uint64((off + at) / pageBytes)
			t.set(id, pageSum(id, b[at:at+pageBytes]))
		}
		return write(b, off)
	})
}

// checkedFile reads pages of state.db into memory of this process and believes only those that pass their checksum. It
// reads with plain calls: a copy cannot change after it was checked, and a disk that cannot read is an error and no
// fault.
type checkedFile struct {
	file      *os.File
	sumsPath  string
	pageBytes int
	sums      sumTable
	cache     [cachedPages]atomic.Pointer[cachedPage]
	views     metaBook
	side      *sumsFile // nil: the checksums are not known
	db        *bolt.DB
	written   atomic.Int64 // bytes of whole pages, since the file was opened
	writer    writer       // of the transaction that runs
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

// openChecked returns the pages of f, whose newest transaction is that of m, and opens the file of their checksums with
// flag, os.O_RDONLY or os.O_RDWR. f stays the caller's.
func openChecked(f *os.File, m *metaPage, sumsPath string, flag int) (*checkedFile, error) {
	side, sums, err := loadSums(sumsPath, flag, m)
	if err != nil {
		return nil, err
	}
	c := &checkedFile{file: f, sumsPath: sumsPath, pageBytes: m.pageBytes, side: side}
	if side != nil {
		c.sums.sums.Store(&sums)
	}
	return c, nil
}

// known reports whether the checksums of the pages are known: there was a file of them, and it was of the newest
// transaction.
func (c *checkedFile) known() bool { return c.side != nil }

// walker returns a walker of the transaction of m, which a view keeps. It checks the checksum of each page.
func (c *checkedFile) walker(m *metaPage) *walker {
	return &walker{r: c.file, meta: *m, check: c.checkRun}
}

// firstWalker returns a walker of the newest transaction, that of m, for the reading before bbolt opens the file. It
// notes the free pages. If the checksums are not known, it notes them.
func (c *checkedFile) firstWalker(m *metaPage) *walker {
	c.writer.free = make(bitmap, m.highWater/64+1)
	w := c.walker(m)
	w.free = c.writer.free.set
	if !c.known() {
		w.check = c.noteRun
	}
	return w
}

// complete ends the first reading, which found nothing wrong with the transaction of m. It writes the file of the
// checksums if they were not known.
func (c *checkedFile) complete(m *metaPage) (err error) {
	if err := c.noteMetas(m); err != nil {
		return disk.Damaged(c.file.Name(), "%w", err)
	}
	if !c.known() {
		c.side, err = makeSums(c.sumsPath, &c.sums, m)
	}
	return err
}

// close closes the file of the checksums.
func (c *checkedFile) close() error {
	if c.side == nil {
		return nil
	}
	return c.side.file.Close()
}

// bytesWritten returns how many bytes of whole pages were written since the file was opened.
func (c *checkedFile) bytesWritten() int64 { return c.written.Load() }

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

// scrub compares n pages from id on, the meta pages included and free ones left out, with their checksums. It returns
// how many pages it passed, and whether there are more behind them. No transaction that writes runs.
func (c *checkedFile) scrub(id, n uint64) (passed uint64, more bool, err error) {
	buf := make([]byte, c.pageBytes)
	end := c.newest().highWater
	if size, err := disk.Size(c.file); err != nil || size < int64(end)*int64(c.pageBytes) {
		return 0, false, fmt.Errorf("the file has %d bytes and needs %d pages of %d: it was cut short", size, end,
			c.pageBytes)
	}
	for i := id; i < min(end, id+n); i++ {
		if i >= 2 && c.isFree(i) {
			continue
		}
		if err := c.readPages(i, buf); err != nil {
			return 0, false, err
		}
	}
	return min(end, id+n) - min(end, id), id+n < end, nil
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
