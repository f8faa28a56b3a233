package storage

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"tenure/kv"
)

// recountBytes is how much of the records is read at a time by Recount. A checkpoint waits for no more than that, or
// for one record.
const recountBytes = 256 << 10

// recount is a digest that is being made anew of the records in the file, in order of space and key, while checkpoints
// go on: what they change at or below its position they change in it too. So at the end it is that of the newest
// checkpoint, and no view was held for long. stateDB.mu guards it.
type recount struct {
	running bool
	space   kv.Space // everything at or below this position is in found
	key     []byte
	found   digest
}

// covers reports whether the record of c, if there is one, is in r already.
func (r *recount) covers(c *kv.Change) bool {
	if !r.running {
		return false
	}
	return c.Space < r.space || c.Space == r.space && bytes.Compare(c.Key, r.key) <= 0
}

// Recount reads every record of the state database, at bytesPerSecond, makes the digest of all of them anew, and
// compares it with the one that checkpoints keep up. A difference, and any other damage, ends the store and is returned.
// One at a time; checkpoints go on beside it, and it holds no view for longer than a piece takes to read.
func (s *Store) Recount(ctx context.Context, bytesPerSecond int64) error {
	return s.state.countAgain(ctx, bytesPerSecond)
}

func (s *stateDB) countAgain(ctx context.Context, bytesPerSecond int64) error {
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
		timer := time.NewTimer(time.Duration(read) * time.Second / time.Duration(max(1, bytesPerSecond)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-s.ended:
			timer.Stop()
			return s.failed()
		case <-timer.C:
		}
	}
}

// countPiece reads the next records, and at the end compares the digests.
func (s *stateDB) countPiece() (read int64, more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.view()
	if err != nil {
		return 0, false, err
	}
	defer v.Close()
	r := &s.recount
	from := r.key
	for space := int(r.space); space < len(spaceNames) && read < recountBytes; space++ {
		err := v.(*view).ascend(kv.Space(space), from, func(key, record, _ []byte) bool {
			if from != nil && bytes.Equal(key, from) {
				return true
			}
			if read >= recountBytes {
				return false
			}
			r.space, r.key = kv.Space(space), append(r.key[:0:0], key...)
			r.found.add(record)
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
		return 0, false, s.fail(damage(s.statePath(), "%w", fmt.Errorf(
			"it holds %d records and should hold %d, or not these", r.found.Count, want.Count)))
	}
	s.stats.recounts.Add(1)
	return read, false, nil
}
