package state

import (
	"bytes"
	"fmt"
	"sync"

	"tenure/kv"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/pages"
)

// View opens a read view of the newest checkpoint. It is safe for concurrent use.
func (s *DB) View() (kv.StateDB, error) {
	if err := s.failure.Err(); err != nil {
		return nil, err
	}
	v := s.checked.JoinView()
	if v == nil {
		var err error
		if v, err = s.pin(); err != nil {
			return nil, err
		}
		s.checked.ShareView(v)
	}
	return &view{file: s.stateFile, pages: v, since: s.checked.Written()}, nil
}

// view implements kv.StateDB on a read transaction, by reading and checking its pages itself.
type view struct {
	file  *stateFile
	pages *pages.View
	since int64 // bytes that checkpoints had written
}

// overtakenBytes bounds by how much the file grows for a view: when checkpoints have written so much beside it, it is
// to be closed.
const overtakenBytes = 128 << 20

// Overtaken implements kv.StateDB.
func (v *view) Overtaken() bool { return v.file.checked.Written()-v.since > overtakenBytes }

// cursors pools cursors with their buffers.
var cursors = sync.Pool{New: func() any { return new(pages.Cursor) }}

func (v *view) Close() { v.pages.Close() }

// open returns a cursor, which the caller puts back, and the root of a kind.
func (v *view) open(kind kv.RecordKind) (*pages.Cursor, pages.Bucket, error) {
	if err := v.file.failure.Err(); err != nil {
		return nil, pages.Bucket{}, err
	}
	c := cursors.Get().(*pages.Cursor)
	c.Reset(v.file.checked, v.pages.Meta)
	r, err := v.pages.FindBucket(c, bucketNames[kind])
	if err != nil {
		return nil, pages.Bucket{}, v.damaged(err)
	}
	return c, r, nil
}

// damaged ends the store because of err, which names the place.
func (v *view) damaged(err error) error {
	return v.file.failure.Fail(disk.Damaged(v.file.path, "%w", err))
}

// Get implements kv.StateDB. The bytes are a copy.
func (v *view) Get(kind kv.RecordKind, key []byte) ([]byte, error) {
	c, root, err := v.open(kind)
	if err != nil {
		return nil, err
	}
	defer cursors.Put(c)
	if !root.Found {
		return nil, nil
	}
	record, err := c.Find(&root, key)
	if err != nil {
		return nil, v.damaged(err)
	}
	if record == nil {
		return nil, nil
	}
	value, err := OpenRecord(kind, key, record)
	if err != nil {
		return nil, v.damaged(err)
	}
	return append(make([]byte, 0, len(value)), value...), nil
}

// Ascend implements kv.StateDB.
func (v *view) Ascend(kind kv.RecordKind, from []byte, fn func(key, value []byte) bool) error {
	return v.ascend(kind, from, func(key, _, value []byte) bool { return fn(key, value) })
}

// ascend is Ascend, with the records as they are in the file, too.
func (v *view) ascend(kind kv.RecordKind, from []byte, fn func(key, record, value []byte) bool) error {
	return v.scan(kind, +1, fn, func(c *pages.Cursor, r *pages.Bucket) error {
		if err := c.Seek(r, from); err != nil || c.Inside() {
			return err
		}
		return c.Step(+1)
	})
}

// Descend implements kv.StateDB.
func (v *view) Descend(kind kv.RecordKind, below []byte, fn func(key, value []byte) bool) error {
	values := func(key, _, value []byte) bool { return fn(key, value) }
	return v.scan(kind, -1, values, func(c *pages.Cursor, r *pages.Bucket) (err error) {
		if below == nil {
			err = c.SeekLast(r)
		} else {
			err = c.Seek(r, below)
		}
		if err != nil {
			return err
		}
		return c.Step(-1)
	})
}

// scan calls fn for the record that start finds and for those behind it in a direction, in which keys must rise or
// fall.
func (v *view) scan(
	kind kv.RecordKind, direction int, fn func(key, record, value []byte) bool, start func(*pages.Cursor, *pages.Bucket) error,
) error {
	c, root, err := v.open(kind)
	if err != nil {
		return err
	}
	defer cursors.Put(c)
	if !root.Found {
		return nil
	}
	var before []byte
	for err = start(c, &root); err == nil && c.Inside(); err = c.Step(direction) {
		if err := v.file.failure.Err(); err != nil {
			return err
		}
		key, record, err := c.Record()
		if err != nil {
			return v.damaged(err)
		}
		if before != nil && bytes.Compare(key, before) != direction {
			return v.damaged(fmt.Errorf("the record of key %q is out of order", key))
		}
		value, err := OpenRecord(kind, key, record)
		if err != nil {
			return v.damaged(err)
		}
		if !fn(key, record, value) {
			return nil
		}
		before = append(before[:0], key...)
	}
	if err != nil {
		return v.damaged(err)
	}
	return nil
}
