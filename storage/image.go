package storage

import (
	"bytes"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"tenure/kv"
)

var _ kv.Source = (*Store)(nil)

// Loaded is the slot and meta record of the newest fold; zero and nil for a new state. The bytes are shared.
func (s *Store) Loaded() (uint64, []byte, error) {
	if err := s.failed(); err != nil {
		return 0, nil, err
	}
	m := s.folded.Load()
	return m.Slot, m.Meta, nil
}

// View opens a read view of the newest fold. Folds go on beside it, into new pages, so that the file grows for as long
// as it stays open.
func (s *Store) View() (kv.Image, error) {
	if err := s.failed(); err != nil {
		return nil, err
	}
	v := &view{store: s}
	err := guard(s.statePath(), func() (err error) {
		v.tx, err = s.state.Begin(false)
		return err
	})
	if err != nil {
		return nil, s.fail(fmt.Errorf("%s: open a view: %w", s.statePath(), err))
	}
	return v, nil
}

// pinState opens a read transaction of state.db and finds its meta page, so that its pages can be read from the file.
func (s *Store) pinState() (*bolt.Tx, metaPage, error) {
	for range 100 { // a fold may write the page meanwhile
		var tx *bolt.Tx
		err := guard(s.statePath(), func() (err error) {
			tx, err = s.state.Begin(false)
			return err
		})
		if err != nil {
			return nil, metaPage{}, s.fail(fmt.Errorf("%s: open a view: %w", s.statePath(), err))
		}
		metas, err := readMetas(s.stateFile)
		if err == nil {
			for _, m := range metas {
				if m.txid == uint64(tx.ID()) {
					return tx, m, nil
				}
			}
		}
		tx.Rollback()
	}
	return nil, metaPage{}, s.fail(damage(s.statePath(), "its meta pages are not those in memory"))
}

// view implements kv.Image on a read transaction.
type view struct {
	store   *Store
	tx      *bolt.Tx
	buckets [4]*bolt.Bucket // of the first spaces, once looked for
}

// bucket is the bucket of a space, or nil.
func (v *view) bucket(space kv.Space) *bolt.Bucket {
	if int(space) >= len(v.buckets) {
		return v.tx.Bucket(spaceNames[space])
	}
	if v.buckets[space] == nil {
		v.buckets[space] = v.tx.Bucket(spaceNames[space])
	}
	return v.buckets[space]
}

func (v *view) Close() {
	if v.tx != nil {
		v.tx.Rollback()
		v.tx = nil
	}
}

// damaged ends the store with the record that shows it.
func (v *view) damaged(key []byte, err error) error {
	return v.store.fail(damage(v.store.statePath(), "the record of key %q %w", key, err))
}

// step runs fn on the mapped file and ends the store if that shows damage.
func (v *view) step(fn func()) error {
	if err := v.store.failed(); err != nil {
		return err
	}
	err := guard(v.store.statePath(), func() error { fn(); return nil })
	if err != nil {
		return v.store.fail(err)
	}
	return nil
}

var errOrder = errors.New("is out of order")

// Get checks the record it finds. If it finds none it looks at the two between which key would be: a key whose own
// bytes were damaged, or which a damaged branch hides, shows there.
func (v *view) Get(space kv.Space, key []byte) (value []byte, err error) {
	var bad []byte
	gerr := v.step(func() {
		b := v.bucket(space)
		if b == nil {
			return
		}
		c := b.Cursor()
		at, record := c.Seek(key)
		if bytes.Equal(at, key) {
			bad = at
			value, err = spaceSeeds[space].open(at, record)
			return
		}
		bad, err = neighbours(c, spaceSeeds[space], key, at, record)
	})
	switch {
	case gerr != nil:
		return nil, gerr
	case err != nil:
		return nil, v.damaged(bad, err)
	}
	return value, nil
}

// neighbours checks the records before and after a key that is not there; the cursor stands on the one after it, or
// nowhere if at is nil. It returns the key of the bad one.
func neighbours(c *bolt.Cursor, s seed, key, at, record []byte) ([]byte, error) {
	if at != nil {
		if _, err := s.open(at, record); err != nil {
			return at, err
		}
		if bytes.Compare(at, key) < 0 {
			return at, errOrder
		}
		at, record = c.Prev()
	} else {
		at, record = c.Last()
	}
	if at == nil {
		return nil, nil
	}
	if _, err := s.open(at, record); err != nil {
		return at, err
	}
	if bytes.Compare(at, key) >= 0 {
		return at, errOrder
	}
	return nil, nil
}

// Ascend implements kv.Image.
func (v *view) Ascend(space kv.Space, from []byte, fn func(key, value []byte) bool) error {
	return v.scan(space, +1, func(c *bolt.Cursor) ([]byte, []byte) { return c.Seek(from) }, (*bolt.Cursor).Next, fn)
}

// Descend implements kv.Image.
func (v *view) Descend(space kv.Space, below []byte, fn func(key, value []byte) bool) error {
	start := func(c *bolt.Cursor) ([]byte, []byte) {
		if below == nil {
			return c.Last()
		}
		if k, _ := c.Seek(below); k == nil {
			return c.Last()
		}
		return c.Prev()
	}
	return v.scan(space, -1, start, (*bolt.Cursor).Prev, fn)
}

// scan calls fn for the record that start finds and for those along advance; keys must rise or fall as direction says.
func (v *view) scan(space kv.Space, direction int, start, advance func(*bolt.Cursor) ([]byte, []byte), fn func(key, value []byte) bool) error {
	var c *bolt.Cursor
	var key, value []byte
	for {
		var err error
		before := key
		gerr := v.step(func() {
			var record []byte
			if c != nil {
				key, record = advance(c)
			} else if b := v.bucket(space); b != nil {
				c = b.Cursor()
				key, record = start(c)
			}
			switch {
			case key == nil:
			case before != nil && bytes.Compare(key, before) != direction:
				err = errOrder
			default:
				value, err = spaceSeeds[space].open(key, record)
			}
		})
		switch {
		case gerr != nil:
			return gerr
		case err != nil:
			return v.damaged(key, err)
		case key == nil || !fn(key, value):
			return nil
		}
	}
}
