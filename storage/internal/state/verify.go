package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"tenure/internal/ident"
	"tenure/internal/oslimit"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/pages"
	"tenure/storage/internal/sealed"
)

// Content is what a reading of state.db finds besides the state database's records.
type Content struct {
	Owner ident.StoreID // the store that it is of
	Marks Marks
}

// ErrNoSums: nobody has the checksums of the pages of a file.
var ErrNoSums = errors.New("the checksums of its pages are missing")

// ReadContent reads a state database that no bbolt has open: all of it up to a size of wholeBytes, and else its
// branch pages. If sums names the file with the checksums of its pages, they must hold.
func ReadContent(path string, wholeBytes int64, sums ...string) (*Content, error) {
	f, err := oslimit.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := disk.Size(f)
	if err != nil {
		return nil, err
	}
	m, err := pages.NewestMeta(f, size)
	if err != nil {
		return nil, err
	}
	w := &pages.Walker{R: f, Meta: m}
	for _, path := range sums {
		c, err := pages.Open(f, &m, path, os.O_RDONLY)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		if !c.Known() {
			return nil, ErrNoSums
		}
		w = c.Walker(&m)
	}
	w.Skeleton = size > wholeBytes
	return readContent(w)
}

// readContent checks state.db with w: its branch pages, its free list and its own records, and, unless it is only the
// skeleton that is wanted, every record of the state database.
func readContent(w *pages.Walker) (*Content, error) {
	c := &Content{}
	var found sealed.Digest
	missing := 2
	w.Visit = func(bucket string, key, record []byte) error {
		if bucket == checkpointBucket {
			missing--
			switch {
			case bytes.Equal(key, ownerKey):
				return checkpointSeed.OpenInto(key, record, &c.Owner)
			case bytes.Equal(key, checkpointKey):
				return checkpointSeed.OpenInto(key, record, &c.Marks)
			}
			return fmt.Errorf("a record %q that nobody wrote", key)
		}
		kind, ok := KindOf(bucket)
		if !ok {
			return fmt.Errorf("a bucket %q that nobody wrote", bucket)
		}
		if _, err := OpenRecord(kind, key, record); err != nil {
			return err
		}
		found.Add(record)
		return nil
	}
	if err := w.Walk(); err != nil {
		return nil, err
	}
	switch {
	case missing != 0:
		return nil, errors.New("its own records are missing")
	case !w.Skeleton && found != c.Marks.Records:
		return nil, fmt.Errorf("it holds %d records and should hold %d, or not these", found.Count,
			c.Marks.Records.Count)
	}
	return c, nil
}

// Verify reads every page and record of the newest checkpoint. Damage ends the store and is returned. ctx ends it
// early. It is safe for concurrent use.
func (s *DB) Verify(ctx context.Context) error {
	if err := s.failure.Err(); err != nil {
		return err
	}
	v, err := s.pin()
	if err != nil {
		return err
	}
	defer v.Close()
	pause := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return s.failure.Err() // closed, for one
	}
	w := s.checked.Walker(v.Meta)
	w.Pause = pause
	_, err = readContent(w)
	if stopped := pause(); err == nil || stopped != nil {
		return stopped
	}
	return s.failure.Fail(disk.Damaged(s.files.StatePath(), "%w", err))
}
