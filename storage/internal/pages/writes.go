package pages

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"reflect"
	"unsafe"

	bolt "go.etcd.io/bbolt"

	"tenure/storage/internal/disk"
)

// bbolt has no hook for its pages, but it writes each of them through one function value, which its own tests replace.
// So does Intercept. Where the hook of File.Follow stands in a transaction:
//
//	bbolt                                    here
//	Begin                                    Begin: it found the newest meta page; the free list is what was written
//	reads pages that changes lead to         a cursor before: each page on the way passed its checksum
//	joins and splits pages, in memory
//	writes pages, rising                     wrote: their checksums, from memory
//	  one of them the free list                what bbolt read and what it replaces passes its checksum still
//	  the last of them                         the checksums are durable in state.sums
//	syncs, writes the meta page, syncs       wroteMeta: views of the transaction may come

// WriteAt writes b at off.
type WriteAt func(b []byte, off int64) (int, error)

// Intercept makes db write its pages through the result of hook, which is given bbolt's own function. The error says
// that this version of bbolt has no such function.
func Intercept(db *bolt.DB, hook func(write WriteAt) WriteAt) error {
	field := reflect.ValueOf(db).Elem().FieldByName("ops")
	if field.Kind() == reflect.Struct {
		field = field.FieldByName("writeAt")
	}
	if !field.IsValid() || field.Type() != reflect.TypeFor[func([]byte, int64) (int, error)]() {
		return errors.New("this program was built with a version of bbolt whose writes it cannot see; build it " +
			"with the version in go.mod")
	}
	at := (*func([]byte, int64) (int, error))(unsafe.Pointer(field.UnsafeAddr()))
	*at = hook(*at)
	return nil
}

// writer follows a transaction of bbolt's that writes.
type writer struct {
	next   bitmap // pages that the free list names, once it was written
	seen   bitmap // pages that were read for this one, and by bbolt too
	tx     *bolt.Tx
	meta   *Meta    // of the transaction before
	free   bitmap   // its free pages
	list   uint64   // page of the free list that was written
	wrote  []uint64 // pages written
	stored bool     // their checksums are durable
}

// Follow makes db, which has the file open, write through c. The result of insist writes to f through write, and finds
// space if the file system has none.
func (c *File) Follow(db *bolt.DB, insist func(f *os.File, write WriteAt) WriteAt) error {
	c.db = db
	c.side.write = insist(c.side.file, c.side.file.WriteAt)
	return Intercept(db, func(write WriteAt) WriteAt {
		write = insist(c.file, write)
		return func(b []byte, off int64) (int, error) { return c.wrote(write, b, off) }
	})
}

// Begin starts to follow tx, before anything was read in it. Its error wraps disk.ErrChanged.
func (c *File) Begin(tx *bolt.Tx) error {
	before := c.views.newest()
	m := before.meta
	if uint64(tx.ID()) != m.TxID+1 {
		return fmt.Errorf("%w: the meta page of transaction %d", disk.ErrChanged, m.TxID)
	}
	w := &c.writer
	w.tx, w.meta, w.free, w.wrote, w.stored, w.next, w.list = tx, m, before.free, w.wrote[:0], false, nil, 0
	w.seen = make(bitmap, m.HighWater/64+1)
	p, err := c.read(m.freelist, m.HighWater, make([]byte, c.pageBytes))
	if err != nil {
		return fmt.Errorf("%w: %w", disk.ErrChanged, err)
	}
	for i := p.id; i <= p.id+p.more; i++ {
		w.seen.set(i)
	}
	return nil
}

// wrote stands for bbolt's writing of whole pages.
func (c *File) wrote(write WriteAt, b []byte, off int64) (int, error) {
	id, w := uint64(off)/uint64(c.pageBytes), &c.writer
	if id < 2 {
		return c.wroteMeta(write, b, off)
	}
	if w.tx == nil || len(b)%c.pageBytes != 0 {
		return 0, fmt.Errorf("page %d is written outside of a transaction", id)
	}
	p := page{id: id, data: b}
	c.written.Add(int64(len(b)))
	for ; len(b) > 0; id, b = id+1, b[c.pageBytes:] {
		c.sums.set(id, pageSum(id, b[:c.pageBytes]))
		c.cache.drop(id)
		w.wrote = append(w.wrote, id)
	}
	if p.flags() == flagFreelist {
		if err := c.checkReplaced(p); err != nil {
			// Not returned: bbolt would read its free list from the file again.
			panic(fmt.Errorf("%w: %w", disk.ErrChanged, err))
		}
	}
	st := w.tx.Stats()
	if int64(len(w.wrote)) == st.GetPageCount() {
		if err := c.store(); err != nil {
			return 0, err
		}
	}
	return write(p.data, off)
}

// checkReplaced reads the source pages of this transaction once more: all pages that it read, and the pages that are
// new in its free list. When bbolt writes a page, it has done all its reading.
func (c *File) checkReplaced(list page) error {
	w := &c.writer
	end := uint64(w.tx.Size()) / uint64(c.pageBytes)
	w.next = make(bitmap, end/64+1)
	w.list = list.id
	if err := eachFree(list, func(id uint64) error {
		if id >= end {
			return fmt.Errorf("the free list has page %d of %d", id, end)
		}
		w.next.set(id)
		return nil
	}); err != nil {
		return err
	}
	free := w.free
	const run = 16
	buf := make([]byte, run*c.pageBytes)
	for id := uint64(2); id < w.meta.HighWater; {
		n := uint64(0)
		for n < run && id+n < w.meta.HighWater && (w.seen.has(id+n) || w.next.has(id+n) && !free.has(id+n)) {
			n++
		}
		if n == 0 {
			id++
			continue
		}
		if err := c.readPages(id, buf[:n*uint64(c.pageBytes)]); err != nil {
			return err
		}
		id += n
	}
	return nil
}

// store makes the checksums of the pages of this transaction durable. It comes before the meta page, and not with it:
// while bbolt writes the meta page, it holds up the opening of views.
func (c *File) store() error {
	w := &c.writer
	m := Meta{
		root: uint64(w.tx.Cursor().Bucket().Root()), freelist: w.list, TxID: uint64(w.tx.ID()),
		HighWater: uint64(w.tx.Size()) / uint64(c.pageBytes),
	}
	if err := c.side.append(&c.sums, w.wrote, &m); err != nil {
		return err
	}
	w.stored = true
	return nil
}

// wroteMeta stands for bbolt's writing of a meta page, the last of its transaction.
func (c *File) wroteMeta(write WriteAt, b []byte, off int64) (int, error) {
	m, err := decodeMeta(b, off)
	w := &c.writer
	switch {
	case err != nil:
		return 0, err
	case !w.stored || w.list == 0 || m.freelist != w.list || m.TxID != w.meta.TxID+1:
		return 0, fmt.Errorf("the meta page of transaction %d comes before its pages", m.TxID)
	}
	id := uint64(off) / uint64(c.pageBytes)
	c.sums.set(id, pageSum(id, b))
	c.views.note(&m, w.next)
	n, err := write(b, off)
	if err != nil {
		return n, err
	}
	c.views.settled.Store(m.TxID)
	return n, nil
}

// End stops following the transaction, which has ended in either way. What it has replaced leaves the cache: an older
// view reads such a page again if it needs it, and the copy goes at last when the page is written.
func (c *File) End() {
	w := &c.writer
	for i, word := range w.next {
		if i < len(w.free) {
			word &^= w.free[i]
		}
		for ; word != 0; word &= word - 1 {
			c.cache.drop(uint64(64*i + bits.TrailingZeros64(word)))
		}
	}
	w.tx, w.seen, w.next, w.free = nil, nil, nil, nil
}
