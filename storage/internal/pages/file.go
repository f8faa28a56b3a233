package pages

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"tenure/storage/internal/disk"
)

// File reads pages of a bbolt file into memory of this process, and believes only those that pass their checksums. It
// reads with plain calls: a copy cannot change after it was checked, and a disk that cannot read is an error and no
// fault. A File begins with Open, a walk of FirstWalker, Complete, and Follow when bbolt has opened the file.
type File struct {
	file      *os.File
	sumsPath  string
	pageBytes int
	sums      Sums
	cache     cache
	first     bitmap // pages that the free list of the first reading names
	views     views
	sharing   sharing
	side      *sumsFile // nil: the checksums are not known
	db        *bolt.DB
	written   atomic.Int64 // bytes of whole pages, since the file was opened
	writer    writer       // of the transaction that runs
}

// Open returns the pages of f, whose newest transaction is that of m, and opens the file of their checksums at sumsPath
// with flag, os.O_RDONLY or os.O_RDWR. The caller closes f, and the File before it.
func Open(f *os.File, m *Meta, sumsPath string, flag int) (*File, error) {
	side, sums, err := loadSums(sumsPath, flag, m)
	if err != nil {
		return nil, err
	}
	c := &File{file: f, sumsPath: sumsPath, pageBytes: m.PageBytes, cache: newCache(m.PageBytes), side: side}
	if side != nil {
		c.sums.sums.Store(&sums)
	}
	return c, nil
}

// Known reports whether the checksums of the pages are known: there was a file of them, and it was of the newest
// transaction.
func (c *File) Known() bool { return c.side != nil }

// Walker returns a walker of the transaction of m, which a view keeps. It checks the checksum of each page.
func (c *File) Walker(m *Meta) *Walker {
	return &Walker{R: c.file, Meta: *m, check: c.checkRun}
}

// FirstWalker returns a walker of the newest transaction, that of m, for the reading before bbolt opens the file. It
// notes the free pages. If the checksums are not known, it notes these too, and must not leave out any page.
func (c *File) FirstWalker(m *Meta) *Walker {
	c.first = make(bitmap, m.HighWater/64+1)
	w := c.Walker(m)
	w.free = c.first.set
	if !c.Known() {
		w.check = c.noteRun
	}
	return w
}

// Complete ends the first reading, which found nothing wrong with the transaction of m. If the checksums were not
// known, it writes their file, durably.
func (c *File) Complete(m *Meta) (err error) {
	if err := c.noteMetas(m); err != nil {
		return disk.Damaged(c.file.Name(), "%w", err)
	}
	if !c.Known() {
		c.side, err = makeSums(c.sumsPath, &c.sums, m)
	}
	return err
}

// Close closes the file of the checksums.
func (c *File) Close() error {
	if c.side == nil {
		return nil
	}
	return c.side.file.Close()
}

// Written returns how many bytes of whole pages were written since the file was opened.
func (c *File) Written() int64 { return c.written.Load() }

// read reads page id, with its overflow, in a transaction with highWater pages. Its data is in buf, which has space for
// a page, or in new memory if there is overflow.
func (c *File) read(id, highWater uint64, buf []byte) (page, error) {
	p, err := c.readFirst(id, highWater, buf)
	if err != nil || p.more == 0 {
		return p, err
	}
	p.data = append(make([]byte, 0, int(p.more+1)*c.pageBytes), p.data...)[:int(p.more+1)*c.pageBytes]
	return p, c.readPages(id+1, p.data[c.pageBytes:])
}

// readFirst reads page id without its overflow.
func (c *File) readFirst(id, highWater uint64, buf []byte) (page, error) {
	if id < 2 || id >= highWater {
		return page{}, fmt.Errorf("page %d is not among the %d pages of the file", id, highWater)
	}
	buf = buf[:c.pageBytes]
	if err := c.readPages(id, buf); err != nil {
		return page{}, err
	}
	return firstOf(id, highWater, buf)
}

// firstOf returns page id, of which data is the first page, without its overflow.
func firstOf(id, highWater uint64, data []byte) (page, error) {
	p := page{id: id, data: data, more: uint64(order.Uint32(data[12:]))}
	if p.more >= highWater-id {
		return page{}, fmt.Errorf("page %d goes on behind the last page", id)
	}
	return p, nil
}

// readPages fills buf with the pages from id on and checks each.
func (c *File) readPages(id uint64, buf []byte) error {
	if n, err := c.file.ReadAt(buf, int64(id)*int64(c.pageBytes)); err != nil {
		if err == io.EOF {
			return fmt.Errorf("page %d is behind the end of the file: it was cut short", id+uint64(n/c.pageBytes))
		}
		return fmt.Errorf("page %d cannot be read: %w", id, disk.Plain(err))
	}
	return c.checkRun(id, buf)
}

// checkRun checks the pages from id on, which are in data.
func (c *File) checkRun(id uint64, data []byte) error {
	for ; len(data) > 0; id, data = id+1, data[c.pageBytes:] {
		if err := c.sums.check(id, data[:c.pageBytes]); err != nil {
			return err
		}
	}
	return nil
}

// noteRun notes the checksums of the pages from id on, which are in data.
func (c *File) noteRun(id uint64, data []byte) error {
	for ; len(data) > 0; id, data = id+1, data[c.pageBytes:] {
		c.sums.set(id, pageSum(id, data[:c.pageBytes]))
	}
	return nil
}

// Scrub compares n pages from id on, the meta pages included and free ones left out, with their checksums. It returns
// how many pages it passed, and whether there are more behind them. No transaction that writes runs.
func (c *File) Scrub(id, n uint64) (passed uint64, more bool, err error) {
	buf := make([]byte, c.pageBytes)
	end, free := c.Newest().HighWater, c.Free()
	size, err := disk.Size(c.file)
	if err != nil {
		return 0, false, err
	}
	if size < int64(end)*int64(c.pageBytes) {
		return 0, false, fmt.Errorf("the file has %d bytes and needs %d pages of %d: it was cut short", size, end,
			c.pageBytes)
	}
	for i := id; i < min(end, id+n); i++ {
		if i >= 2 && free.Has(i) {
			continue
		}
		if err := c.readPages(i, buf); err != nil {
			return 0, false, err
		}
	}
	return min(end, id+n) - min(end, id), id+n < end, nil
}

// noteMetas notes the checksums of the meta pages, which were checked by their own, and m, the newer one.
func (c *File) noteMetas(m *Meta) error {
	buf := make([]byte, 2*c.pageBytes)
	if _, err := c.file.ReadAt(buf, 0); err != nil {
		return fmt.Errorf("the meta pages cannot be read: %w", disk.Plain(err))
	}
	c.views.note(m, c.first)
	c.views.settled.Store(m.TxID)
	return c.noteRun(0, buf)
}

// cached returns the checked copy of a page, or nil.
func (c *File) cached(id uint64) []byte { return c.cache.get(id, c.sums.get(id)) }

// keep puts a copy of a page without overflow, which was just checked, into the cache, and returns the copy. A view
// keeps the page from being written to.
func (c *File) keep(id uint64, data []byte) []byte {
	data = append(make([]byte, 0, len(data)), data...)
	c.cache.put(id, c.sums.get(id), data)
	return data
}

// CachedBytes returns the memory that copies of pages take.
func (c *File) CachedBytes() int { return c.cache.bytes() }
