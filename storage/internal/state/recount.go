package state

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"tenure/kv"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/sealed"
)

// recountBytes bounds what Recount reads while a checkpoint waits, except that it reads at least one record.
const recountBytes = 256 << 10

// recount is a digest of the records in the file that is being recomputed, in order of kind and key, while checkpoints
// continue. A checkpoint also applies its changes at or below the position of the recount to the recount. So at the end
// it is the digest of the newest checkpoint, and no view was open for long. It is guarded by DB.mu.
type recount struct {
	running bool
	kind    kv.RecordKind // found includes everything at or below this position
	key     []byte
	found   sealed.Digest
}

// covers reports whether r has passed the key of c.
func (r *recount) covers(c *kv.Change) bool {
	if !r.running {
		return false
	}
	return c.Kind < r.kind || c.Kind == r.kind && bytes.Compare(c.Key, r.key) <= 0
}

// Recount reads all records, at bytesPerSecond, and compares their digest with the one that checkpoints maintain. A
// difference ends the store and is returned. Only one Recount may run at a time, beside anything else.
func (s *DB) Recount(ctx context.Context, bytesPerSecond int64) error {
	s.mu.Lock()
	s.recount = recount{running: true}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.recount = recount{}
		s.mu.Unlock()
	}()
	for {
		read, more, err := s.countPiece()
		if err != nil || !more {
			return err
		}
		pause := time.Duration(read) * time.Second / time.Duration(max(1, bytesPerSecond))
		if err := s.await(ctx, time.After(pause)); err != nil {
			return err
		}
	}
}

// countPiece reads the next records, and compares the digests after the last one.
func (s *DB) countPiece() (read int64, more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.View()
	if err != nil {
		return 0, false, err
	}
	defer v.Close()
	r := &s.recount
	from := r.key
	for kind := int(r.kind); kind < len(bucketNames) && read < recountBytes; kind++ {
		err := v.(*view).ascend(kv.RecordKind(kind), from, func(key, record, _ []byte) bool {
			if from != nil && bytes.Equal(key, from) {
				return true
			}
			if read >= recountBytes {
				return false
			}
			r.kind, r.key = kv.RecordKind(kind), append(r.key[:0:0], key...)
			r.found.Add(record)
			read += int64(len(key) + len(record))
			return true
		})
		if err != nil {
			return 0, false, err
		}
		from = nil
	}
	if read >= recountBytes {
		return read, true, nil
	}
	if want := s.checkpointed.Load().Records; r.found != want {
		return 0, false, s.failure.Fail(disk.Damaged(s.files.StatePath(), "%w", fmt.Errorf(
			"it holds %d records and should hold %d, or not these", r.found.Count, want.Count)))
	}
	s.counters.recounts.Add(1)
	return read, false, nil
}
