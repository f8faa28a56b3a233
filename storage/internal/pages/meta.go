package pages

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"

	"tenure/storage/internal/disk"
)

// Meta is one of the two meta pages, as a transaction left it.
type Meta struct {
	PageBytes int    // a power of two
	HighWater uint64 // pages below this number may be in use
	TxID      uint64
	root      uint64                            // page of the tree of buckets
	freelist  uint64                            // page of the free list, or noFreelist
	text      [pageHeaderBytes + metaBytes]byte // as it is in the file
}

// readMeta reads the meta page at off. A page that does not hold is an error: bbolt would fall back to the other one,
// and forget a transaction that was acknowledged. A crash cannot have torn it, because a meta page's content lies in
// one sector.
func readMeta(r io.ReaderAt, off int64) (Meta, error) {
	var buf [pageHeaderBytes + metaBytes]byte
	if _, err := r.ReadAt(buf[:], off); err != nil {
		return Meta{}, fmt.Errorf("the meta page at byte %d cannot be read: %w", off, err)
	}
	return decodeMeta(buf[:], off)
}

// decodeMeta decodes the meta page of byte off.
func decodeMeta(page []byte, off int64) (Meta, error) {
	b := page[pageHeaderBytes:]
	h := fnv.New64a()
	h.Write(b[:metaBytes-8])
	m := Meta{
		PageBytes: int(order.Uint32(b[8:])), root: order.Uint64(b[16:]), freelist: order.Uint64(b[32:]),
		HighWater: order.Uint64(b[40:]), TxID: order.Uint64(b[48:]),
	}
	copy(m.text[:], page)
	switch {
	case order.Uint32(b) != metaMagic || order.Uint32(b[4:]) != metaVersion || h.Sum64() != order.Uint64(b[56:]):
		return m, fmt.Errorf("the meta page at byte %d fails its checksum", off)
	case m.PageBytes < minPageBytes || m.PageBytes > maxPageBytes || m.PageBytes&(m.PageBytes-1) != 0:
		return m, fmt.Errorf("a page size of %d bytes", m.PageBytes)
	}
	return m, nil
}

// readMetas reads both meta pages.
func readMetas(r io.ReaderAt) (metas [2]Meta, err error) {
	if metas[0], err = readMeta(r, 0); err != nil {
		return metas, err
	}
	if metas[1], err = readMeta(r, int64(metas[0].PageBytes)); err != nil {
		return metas, err
	}
	if metas[0].PageBytes != metas[1].PageBytes {
		return metas, errors.New("the meta pages disagree about the page size")
	}
	return metas, nil
}

// CheckMetas returns an error unless both meta pages pass their checksums.
func CheckMetas(r io.ReaderAt) error {
	_, err := readMetas(r)
	return err
}

// NewestMeta reads the meta page of the last transaction and checks it against the size of the file in bytes. The other
// meta page must hold too, and be that of the transaction before.
func NewestMeta(r io.ReaderAt, size int64) (Meta, error) {
	metas, err := readMetas(r)
	if err != nil {
		return Meta{}, err
	}
	m, old := metas[0], metas[1]
	if old.TxID > m.TxID {
		m, old = old, m
	}
	if m.TxID != old.TxID+1 {
		return m, fmt.Errorf("the meta pages are of transactions %d and %d: a synced write was lost", old.TxID, m.TxID)
	}
	return m, m.fits(size)
}

// AnyMeta returns the newest valid meta page of a file of size bytes, even if the file is otherwise inconsistent, and
// calls skipped with what is wrong. HighWater is at most the number of pages in the file, which may be truncated.
func AnyMeta(r io.ReaderAt, size int64, skipped func(error)) (best Meta, err error) {
	if best, err = NewestMeta(r, size); err == nil {
		return best, nil
	}
	skipped(err)
	first, err := readMeta(r, 0)
	step := int64(first.PageBytes)
	if err != nil {
		step = 4096
	}
	second, other := readMeta(r, step)
	switch {
	case err != nil && other != nil:
		return best, errors.New("neither meta page holds: nothing in the file can be found")
	case err != nil || other == nil && second.TxID > first.TxID:
		best = second
	default:
		best = first
	}
	best.HighWater = min(best.HighWater, uint64(size)/uint64(best.PageBytes))
	return best, nil
}

// fits checks that the file holds all pages in use: bbolt would die of SIGBUS behind its end.
func (m Meta) fits(size int64) error {
	if m.HighWater > uint64(size)/uint64(m.PageBytes) {
		return fmt.Errorf("the file has %d bytes and needs at least %d pages of %d: it was cut short", size,
			m.HighWater, m.PageBytes)
	}
	return nil
}

// Settle makes the last transaction of a bbolt file durable before it is believed. A process that died between writing
// a meta page and its sync leaves a page that may be in the page cache only. A loss of power takes the page back, but
// not the writes that were built on it: the first of them overwrite records of the journal. The meta pages are written
// once more, as they are, because a sync that failed took their dirty marks, and no later sync would write them. The
// pages under them were synced before they were written.
func Settle(f *os.File) error {
	metas, err := readMetas(f)
	if err != nil {
		return disk.Damaged(f.Name(), "%w", err)
	}
	buf := make([]byte, pageHeaderBytes+metaBytes)
	for i := range metas {
		at := int64(i) * int64(metas[i].PageBytes)
		if _, err = f.ReadAt(buf, at); err == nil {
			_, err = f.WriteAt(buf, at)
		}
		if err != nil {
			return disk.CannotWrite(f.Name(), err)
		}
	}
	if err := disk.DataSync(f); err != nil {
		return disk.CannotSync(f.Name(), err)
	}
	return nil
}
