package pages

import (
	"fmt"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"tenure/storage/internal/disk"
)

// View is a transaction of bbolt's that reads, and its meta page.
type View struct {
	Meta   *Meta
	file   *File
	of     *transaction
	tx     *bolt.Tx  // nil: it was closed
	shared *sharedTx // nil: tx is of this view alone
}

// View opens a view of the newest transaction. It calls begin, which has bbolt begin one, and returns its errors as
// they are. Each other error is damage. It is safe for concurrent use.
func (c *File) View(begin func() (*bolt.Tx, error)) (*View, error) {
	for {
		settled, err := c.CheckMeta()
		if err != nil {
			return nil, err
		}
		v, err := c.tryView(settled, begin)
		if v != nil || err != nil {
			return v, err
		}
	}
}

// tryView opens a view after CheckMeta has returned settled. It returns nil if two transactions have ended since then:
// their meta pages have taken the places of those before.
//
// bbolt takes the older of two meta pages if the newer one is damaged: that is an error.
func (c *File) tryView(settled uint64, begin func() (*bolt.Tx, error)) (*View, error) {
	c.views.opening.RLock()
	defer c.views.opening.RUnlock()
	tx, err := begin()
	if err != nil {
		return nil, err
	}
	id := uint64(tx.ID())
	t, over := c.views.open(id, settled)
	switch {
	case t != nil:
		return &View{Meta: t.meta, file: c, of: t, tx: tx}, nil
	case !over:
		err = fmt.Errorf("the meta page of transaction %d is not what was written", settled)
	}
	_ = tx.Rollback()
	return nil, err
}

// Tx is bbolt's transaction, for what bbolt measures.
func (v *View) Tx() *bolt.Tx { return v.tx }

// Close ends the view. It may be called more than once, by one goroutine.
func (v *View) Close() {
	tx := v.tx
	v.tx = nil
	if tx == nil || v.shared != nil && v.file.sharing.leave(v.shared) {
		return
	}
	v.file.end(v.of, tx)
}

// end ends tx, which reads t.
func (c *File) end(t *transaction, tx *bolt.Tx) {
	c.views.close(t.meta.TxID)
	_ = tx.Rollback()
}

// views has the transactions that are or can be read, as they were written. So no meta page that is read back is
// believed, and it is known which free pages no view can read.
type views struct {
	// opening is held for reading while bbolt opens a view that is not among those in transactions yet.
	opening sync.RWMutex
	settled atomic.Uint64 // the newest transaction of which the meta page is written

	mu    sync.Mutex
	noted uint64 // the newest of transactions
	// transactions are the newest two, one that is being written, and those of open views.
	transactions map[uint64]*transaction
}

// transaction is one whose pages can be read.
type transaction struct {
	meta    *Meta
	free    bitmap // the pages that its free list names
	views   int    // that are open
	buckets knownBuckets
}

// note adds a transaction before its meta page is written.
func (v *views) note(m *Meta, free bitmap) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for id, t := range v.transactions {
		if id+1 < m.TxID && t.views == 0 {
			delete(v.transactions, id)
		}
	}
	if v.transactions == nil {
		v.transactions = map[uint64]*transaction{}
	}
	v.transactions[m.TxID], v.noted = &transaction{meta: m, free: free}, m.TxID
}

// newest returns the newest transaction.
func (v *views) newest() *transaction {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.transactions[v.settled.Load()]
}

// open counts a view of transaction id, which began when settled was the newest or later, and returns the transaction.
// If it is not known, over reports whether two transactions have ended since.
func (v *views) open(id, settled uint64) (t *transaction, over bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	t = v.transactions[id]
	if t == nil || id < settled {
		return nil, id >= settled && id < v.noted
	}
	t.views++
	return t, false
}

func (v *views) close(id uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	t := v.transactions[id]
	if t.views--; t.views == 0 && id+1 < v.settled.Load() {
		delete(v.transactions, id)
	}
}

// Newest returns the meta page of the newest transaction. No transaction that writes runs.
func (c *File) Newest() *Meta { return c.views.newest().meta }

// CheckMeta compares the newest meta page with what was written, and returns the number of its transaction. It comes
// before each Begin of bbolt, which panics there and keeps its locks if it finds neither of the two meta pages whole.
func (c *File) CheckMeta() (settled uint64, err error) {
	for {
		t := c.views.newest()
		settled = t.meta.TxID
		var b [pageHeaderBytes + metaBytes]byte
		_, err = c.file.ReadAt(b[:], int64(settled&1)*int64(c.pageBytes))
		switch {
		case err == nil && b == t.meta.text:
			return settled, nil
		case c.views.settled.Load() != settled:
			continue // two checkpoints have ended since
		case err != nil:
			return 0, fmt.Errorf("the meta page of transaction %d cannot be read: %w", settled, disk.Plain(err))
		}
		return 0, fmt.Errorf("the meta page of transaction %d is not what was written", settled)
	}
}

// knownBuckets has the buckets of a transaction that were looked for.
type knownBuckets struct{ list atomic.Pointer[[]knownBucket] }

type knownBucket struct {
	name   string
	bucket Bucket
}

// FindBucket is that of at, a cursor of v, and finds a bucket only once in a transaction.
func (v *View) FindBucket(at *Cursor, name []byte) (Bucket, error) {
	known := v.of.buckets.list.Load()
	if known != nil {
		for i := range *known {
			if b := &(*known)[i]; b.name == string(name) {
				return b.bucket, nil
			}
		}
	}
	b, err := at.FindBucket(name)
	if err != nil {
		return Bucket{}, err
	}
	list := []knownBucket{{name: string(name), bucket: b}}
	if known != nil {
		list = append(list, *known...)
	}
	v.of.buckets.list.Store(&list) // of two that find a bucket at once, one may be forgotten
	return b, nil
}
