package pages

import (
	"fmt"
	"hash/crc32"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sums holds the checksum of each page of a file by its number, outside of the page, so that it shows any change of
// a page, an older copy of it included. The zero value has none. One goroutine writes; any number reads at the same
// time. An entry changes only while its page is free, which is when bbolt writes to it. So no reader of a transaction
// sees the entry of another transaction.
type Sums struct{ sums atomic.Pointer[[]uint32] }

// pageSum returns the checksum of page id; never 0.
func pageSum(id uint64, page []byte) uint32 {
	return max(1, crc32.Update(uint32(id)*0x9e3779b1, castagnoli, page))
}

// get returns the checksum of page id, or 0 if nobody has read or written the page.
func (t *Sums) get(id uint64) uint32 {
	if p := t.sums.Load(); p != nil && id < uint64(len(*p)) {
		return atomic.LoadUint32(&(*p)[id])
	}
	return 0
}

// set notes the checksum of page id.
func (t *Sums) set(id uint64, sum uint32) {
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
func (t *Sums) check(id uint64, page []byte) error {
	switch want := t.get(id); {
	case want == 0:
		return fmt.Errorf("page %d is in use and was never written", id)
	case want != pageSum(id, page):
		return fmt.Errorf("page %d fails its checksum", id)
	}
	return nil
}

// Follow makes db note the checksum of each page that it writes.
func (t *Sums) Follow(db *bolt.DB) error {
	pageBytes := int64(db.Info().PageSize)
	return Intercept(db, func(write WriteAt) WriteAt {
		return func(b []byte, off int64) (int, error) {
			for at := int64(0); at+pageBytes <= int64(len(b)); at += pageBytes {
				id := uint64((off + at) / pageBytes)
				t.set(id, pageSum(id, b[at:at+pageBytes]))
			}
			return write(b, off)
		}
	})
}
