package storage

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"

	"tenure/storage/internal/disk"
)

// metaPage is one of the two meta pages.
type metaPage struct {
	pageBytes int
	root      uint64
	freelist  uint64
	highWater uint64
	txid      uint64
	text      [pageHeaderBytes + metaBytes]byte // as it is in the file
}

// readMeta reads the meta page at off. A page that does not hold is an error: bbolt would fall back to the other one,
// and forget a transaction that was acknowledged. A crash cannot have torn it, because a meta page's content lies in
// one sector.
func readMeta(r io.ReaderAt, off int64) (metaPage, error) {
	var buf [pageHeaderBytes + metaBytes]byte
	if _, err := r.ReadAt(buf[:], off); err != nil {
		return metaPage{}, fmt.Errorf("the meta page at byte %d cannot be read: %w", off, err)
	}
	return decodeMeta(buf[:], off)
}

// decodeMeta decodes the meta page of byte off.
func decodeMeta(page []byte, off int64) (metaPage, error) {
	b := page[pageHeaderBytes:]
	h := fnv.New64a()
	h.Write(b[:metaBytes-8])
	m := metaPage{
		pageBytes: int(order.Uint32(b[8:])), root: order.Uint64(b[16:]), freelist: order.Uint64(b[32:]),
		highWater: order.Uint64(b[40:]), txid: order.Uint64(b[48:]),
	}
	copy(m.text[:], page)
	switch {
	case order.Uint32(b) != metaMagic || order.Uint32(b[4:]) != metaVersion || h.Sum64() != order.Uint64(b[56:]):
		return m, fmt.Errorf("the meta page at byte %d fails its checksum", off)
	case m.pageBytes < minPageBytes || m.pageBytes > maxPageBytes || m.pageBytes&(m.pageBytes-1) != 0:
		return m, fmt.Errorf("a page size of %d bytes", m.pageBytes)
	}
	return m, nil
}

// readMetas reads both meta pages.
func readMetas(r io.ReaderAt) (metas [2]metaPage, err error) {
	if metas[0], err = readMeta(r, 0); err != nil {
		return metas, err
	}
	if metas[1], err = readMeta(r, int64(metas[0].pageBytes)); err != nil {
		return metas, err
	}
	if metas[0].pageBytes != metas[1].pageBytes {
		return metas, errors.New("the meta pages disagree about the page size")
	}
	return metas, nil
}

// checkMetas returns an error unless both meta pages hold.
func checkMetas(r io.ReaderAt) error {
	_, err := readMetas(r)
	return err
}

// newestMeta reads the meta page of the last transaction and checks it against the size of the file.
func newestMeta(r io.ReaderAt, size int64) (metaPage, error) {
	metas, err := readMetas(r)
	if err != nil {
		return metaPage{}, err
	}
	m, old := metas[0], metas[1]
	if old.txid > m.txid {
		m, old = old, m
	}
	if m.txid != old.txid+1 {
		return m, fmt.Errorf("the meta pages are of transactions %d and %d: a synced write was lost", old.txid, m.txid)
	}
	return m, m.fits(size)
}

// anyMeta returns the newest valid meta page, even if the file is otherwise inconsistent. Its highWater is at most the
// number of pages in the file, which may be truncated.
func anyMeta(r io.ReaderAt, size int64, skipped func(error)) (best metaPage, err error) {
	if best, err = newestMeta(r, size); err == nil {
		return best, nil
	}
	skipped(err)
	first, err := readMeta(r, 0)
	step := int64(first.pageBytes)
	if err != nil {
		step = 4096
	}
	second, other := readMeta(r, step)
	switch {
	case err != nil && other != nil:
		return best, errors.New("neither meta page holds: nothing in the file can be found")
	case err != nil || other == nil && second.txid > first.txid:
		best = second
	default:
		best = first
	}
	best.highWater = min(best.highWater, uint64(size)/uint64(best.pageBytes))
	return best, nil
}

// fits checks that the file holds all pages in use: bbolt would die of SIGBUS behind its end.
func (m metaPage) fits(size int64) error {
	if m.highWater > uint64(size)/uint64(m.pageBytes) {
		return fmt.Errorf("the file has %d bytes and needs at least %d pages of %d: it was cut short", size,
			m.highWater, m.pageBytes)
	}
	return nil
}

// settle makes the last transaction of a bbolt file durable before it is believed. A process that died between writing
// a meta page and its sync leaves a page that may be in the page cache only. A loss of power takes the page back, but
// not the writes that were built on it: the first of them overwrite records of the journal. The meta pages are written
// once more, as they are, because a sync that failed took their dirty marks, and no later sync would write them. The
// pages under them were synced before they were written.
func settle(f *os.File) error {
	metas, err := readMetas(f)
	if err != nil {
		return disk.Damaged(f.Name(), "%w", err)
	}
	buf := make([]byte, pageHeaderBytes+metaBytes)
	for i := range metas {
		at := int64(i) * int64(metas[i].pageBytes)
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
