package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"tenure/internal/ident"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/sealed"
	"tenure/storage/pages"
)

// stateContent is what a reading of state.db finds besides the state database's records.
type stateContent struct {
	owner ident.StoreID
	marks checkpointMarks
}

// readState checks state.db with w: its branch pages, its free list and its own records, and, unless it is only the
// skeleton that is wanted, every record of the state database.
func readState(w *pages.Walker) (*stateContent, error) {
	c := &stateContent{}
	var found sealed.Digest
	missing := 2
	w.Visit = func(bucket string, key, record []byte) error {
		if bucket == checkpointBucket {
			missing--
			switch {
			case bytes.Equal(key, ownerKey):
				return checkpointSeed.OpenInto(key, record, &c.owner)
			case bytes.Equal(key, checkpointKey):
				return checkpointSeed.OpenInto(key, record, &c.marks)
			}
			return fmt.Errorf("a record %q that nobody wrote", key)
		}
		space, ok := spaceOf(bucket)
		if !ok {
			return fmt.Errorf("a bucket %q that nobody wrote", bucket)
		}
		if _, err := openRecord(space, key, record); err != nil {
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
	case !w.Skeleton && found != c.marks.Records:
		return nil, fmt.Errorf("it holds %d records and should hold %d, or not these", found.Count,
			c.marks.Records.Count)
	}
	return c, nil
}

// Verify reads every page and record of the newest checkpoint and returns damage as an error, after which the store has
// failed. Open does the same for a state.db of up to Options.VerifyBytes. Of a larger one it reads only the branch
// pages, since a start must not take minutes, and the server runs Verify in the background. Verify holds a view open,
// so checkpoints meanwhile make the file grow. It reads as fast as it can: ctx ends it early.
func (s *Store) Verify(ctx context.Context) error { return s.state.verify(ctx) }

func (s *stateDB) verify(ctx context.Context) error {
	if err := s.failure.Err(); err != nil {
		return err
	}
	tx, m, err := s.pinState()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	pause := func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return s.failure.Err() // closed, for one
	}
	w := s.checked.Walker(m)
	w.Pause = pause
	_, err = readState(w)
	if stopped := pause(); err == nil || stopped != nil {
		return stopped
	}
	return s.failure.Fail(disk.Damaged(s.files.StatePath(), "%w", err))
}
