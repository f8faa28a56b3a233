package pages

import (
	"sync"

	bolt "go.etcd.io/bbolt"
)

// sharing has the transaction of bbolt's that many short views share: opening one costs more than a read in it. It
// stays open between two views, too. But nothing is shared while a checkpoint is made: bbolt uses no page again while
// an older view is open, and waits for all views when the file outgrows its map.
type sharing struct {
	mu      sync.Mutex
	off     bool
	current *sharedTx // nil: none is shared
}

// sharedTx is a transaction and how many views read it. sharing guards it.
type sharedTx struct {
	tx    *bolt.Tx
	of    *transaction
	views int
}

// JoinView returns a view that shares the transaction of another one, if that is the newest, and otherwise nil. It asks
// neither bbolt nor the file: the meta page was compared when the transaction was opened, and each checkpoint and each
// pass of the scrub does it again.
func (c *File) JoinView() *View {
	s := &c.sharing
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.current
	if s.off || t == nil || t.of.meta.TxID != c.views.settled.Load() {
		return nil
	}
	t.views++
	return &View{Meta: t.of.meta, file: c, of: t.of, tx: t.tx, shared: t}
}

// ShareView lets other views join that of v, which was just opened, if it is the newest.
func (c *File) ShareView(v *View) {
	s := &c.sharing
	s.mu.Lock()
	old := s.current
	if s.off || v.Meta.TxID != c.views.settled.Load() || old != nil && old.of == v.of {
		s.mu.Unlock()
		return
	}
	v.shared = &sharedTx{tx: v.tx, of: v.of, views: 1}
	s.current = v.shared
	unused := old != nil && old.views == 0
	s.mu.Unlock()
	if unused {
		c.end(old.of, old.tx)
	}
}

// leave ends a view of t, and reports whether the transaction stays open.
func (s *sharing) leave(t *sharedTx) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.views--
	return t.views > 0 || t == s.current
}

// StopSharing lets no later view share a transaction, and ends the one that is shared, with the last view that reads
// it.
func (c *File) StopSharing() {
	s := &c.sharing
	s.mu.Lock()
	old := s.current
	s.off, s.current = true, nil
	unused := old != nil && old.views == 0
	s.mu.Unlock()
	if unused {
		c.end(old.of, old.tx)
	}
}

// Share lets views share a transaction again.
func (c *File) Share() {
	c.sharing.mu.Lock()
	defer c.sharing.mu.Unlock()
	c.sharing.off = false
}
