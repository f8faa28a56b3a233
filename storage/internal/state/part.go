package state

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tenure/kv"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/sealed"
	"tenure/storage/internal/space"
)

// part is the next piece of a checkpoint.
type part struct {
	n    int   // changes
	need int64 // bytes of new pages that it writes, about
	run  int64 // bytes of the largest row of pages among them, about
	// measured: need counts what lies beside the changes. It does where space was short.
	measured bool
}

// room is what the disk has for the parts of a checkpoint, and waits until it is enough.
type room struct {
	file    *stateFile
	space   *space.Account
	options Options
	opened  atomic.Bool // Open has ended: what lacks space may wait for it
	// interrupted is closed by Interrupt: nothing waits for space any more.
	interrupted chan struct{}
	interrupt   sync.Once
}

func newRoom(f *stateFile, account *space.Account, o Options) room {
	return room{file: f, space: account, options: o, interrupted: make(chan struct{})}
}

// nextPart returns the part with which changes begin.
//
// The size of the changes is not the size of the writes: a deletion of a few bytes makes bbolt write the rest of its
// leaf anew, megabytes with large values. So where space is short, nextPart looks at the records beside each change,
// and takes as many changes as the free pages can hold. The pages that they replace are free for the next part.
func (r *room) nextPart(changes []kv.Change) part {
	limit := r.options.PartBytes
	free, short := r.checkpointSpace()
	if !short {
		return takePart(changes, limit, changeBytes)
	}
	limit = min(limit, max(free/8, space.MinCheckpointBytes))
	v, err := r.file.pin()
	if err != nil {
		p := takePart(changes, limit, changeBytes) // the merge finds out
		p.measured = true
		return p
	}
	defer v.Close()
	w := newRewrite(r.file.checked, v.Meta)
	p := takePart(changes, limit, func(c *kv.Change) (need, row int64) {
		need, row, err := w.add(c)
		if err != nil { // the merge finds out
			return changeBytes(c)
		}
		return need, row
	})
	st := r.file.db.Stats()
	p.need += int64(st.FreePageN+st.PendingPageN) * 8 // the free list
	p.measured = true
	return p
}

// batch is changes of a checkpoint that were taken in, and not merged yet.
type batch struct {
	changes []kv.Change
	bytes   int64
	arena   sealed.Arena // what their bytes are in; its chunks go with them
}

// add takes a copy of c in.
func (b *batch) add(c kv.Change) {
	text := append(append(b.arena.Alloc(len(c.Key)+len(c.Value)), c.Key...), c.Value...)
	c.Key = text[:len(c.Key):len(c.Key)]
	if c.Value != nil {
		c.Value = text[len(c.Key):]
	}
	n, _ := changeBytes(&c)
	b.changes, b.bytes = append(b.changes, c), b.bytes+n
}

// drop forgets the first n changes.
func (b *batch) drop(n int) {
	for i := range b.changes[:n] {
		size, _ := changeBytes(&b.changes[i])
		b.bytes -= size
	}
	b.changes = slices.Delete(b.changes, 0, n)
}

// onePart returns copies of changes if they may be one part.
func (s *DB) onePart(changes iter.Seq[kv.Change]) (all []kv.Change, ok bool) {
	var b batch
	for c := range changes {
		if b.bytes >= s.options.PartBytes {
			return nil, false
		}
		b.add(c)
	}
	return b.changes, true
}

// changeBytes returns the bytes of c, without what lies beside it.
func changeBytes(c *kv.Change) (need, row int64) {
	n := int64(len(c.Key) + len(c.Value))
	return n, n
}

// takePart takes changes as long as they need less than limit, at least one.
func takePart(changes []kv.Change, limit int64, bytes func(*kv.Change) (need, row int64)) (p part) {
	for p.n < len(changes) && p.need < limit {
		need, row := bytes(&changes[p.n])
		p.need += need
		p.run = max(p.run, row)
		p.n++
	}
	p.need += partOverhead
	return p
}

// partOverhead is about what a transaction writes besides its leaves and the free list: the buckets, the marks.
const partOverhead = 128 << 10

// checkpointSpace returns how much state.db can take, and whether that is little. It asks the file system, because
// others may have filled it since the last Refresh.
func (r *room) checkpointSpace() (free int64, short bool) {
	u := r.space.Usage()
	size, err := r.file.Measure()
	if err != nil || u.ReserveBytes == 0 { // Open: the reserve is not known yet
		return space.MinCheckpointBytes, true
	}
	unused, err := r.space.Reserve.Unused()
	if err != nil {
		return space.MinCheckpointBytes, true
	}
	free = unused + size.Reusable/2
	return free, free < 4*u.ReserveBytes
}

// spacePoll is the time between two looks at the file system while a checkpoint waits for space.
const spacePoll = 100 * time.Millisecond

// errNoSpace: there is no space for a checkpoint that Open must complete.
var errNoSpace = errors.New("no space left for the rest of a checkpoint")

// errShortNow: space became short after a part was taken, and so what the part needs has not been measured.
var errShortNow = errors.New("space has become short")

// awaitPart returns once state.db can take p: in rows of free pages that are long enough, on the file system, out of
// the reserve file. It returns errShortNow if p must be measured first. The space is promised until the caller calls
// fulfilled.
func (r *room) awaitPart(p part) (promised int64, err error) {
	return r.awaitSpace(r.file.path, func() (int64, error) {
		space, short := r.checkpointSpace()
		switch {
		case short && !p.measured:
			return 0, errShortNow
		case !short:
			return r.missingOf(p.need, space)
		}
		idle := r.file.db.Stats().OpenTxN == 0
		runs, err := r.file.freeRuns(p.run)
		if err != nil {
			return 0, err
		}
		// Pages that the last transaction has freed cannot be used before the views that were open then are closed.
		// They count only when there is no view and no other space.
		pending := int64(r.file.db.Stats().PendingPageN) * int64(r.file.db.Info().PageSize)
		missing := p.need - max(0, runs-pending)
		if unused, err := r.space.Reserve.Unused(); err == nil && idle && unused < missing {
			missing = p.need - runs
		}
		return missing, nil
	})
}

// missingOf returns how many of need bytes the file system and the reserve file must have, where state.db can take
// space bytes and that is plenty. It returns all of need if they have so many, or if the file has a hole: free pages,
// which space counts, may lie apart. Otherwise it returns the part that space does not cover.
func (r *room) missingOf(need, space int64) (int64, error) {
	unused, err := r.space.Reserve.Unused()
	if err != nil || unused >= need {
		return need, err
	}
	if m := r.file.checked.Newest(); r.file.solid() < int64(m.HighWater)*int64(m.PageBytes) {
		return need, nil // a large value may come to lie in a hole
	}
	return need - space, nil
}

// awaitSpace returns once the file system has as many bytes free as missing returns, with what the reserve file gives
// up; nothing is missing at 0 or below. It returns an error when the store has ended or after Interrupt, and at once
// while the store is being opened and with Options.FailWithoutSpace. The space is promised until the caller calls
// fulfilled.
func (r *room) awaitSpace(file string, missing func() (int64, error)) (promised int64, err error) {
	for {
		if err := r.file.failure.Err(); err != nil {
			return 0, err
		}
		need, err := missing()
		if err != nil || need <= 0 {
			return 0, err
		}
		free, promised, err := r.space.Reserve.Promise(need, false)
		switch {
		case err != nil:
			return 0, disk.Unusable("%w", err)
		case free >= need:
			return promised, nil
		case !r.opened.Load() || r.options.FailWithoutSpace:
			return 0, disk.Unusable("%w: %s takes %d bytes and %d are free; make space on its file system",
				errNoSpace, file, need, free)
		}
		select {
		case <-r.interrupted:
			return 0, ErrInterrupted
		case <-r.file.failure.Ended():
		case <-time.After(spacePoll):
		}
	}
}

// redoBytes returns what changes take in the redo file.
func redoBytes(changes iter.Seq[kv.Change]) (n int64) {
	for c := range changes {
		n += int64(redoHeadBytes + len(c.Key) + len(c.Value) + len(putMark) + sealed.SumBytes)
	}
	return n
}

// redoTarget returns the size of the redo file where space is short: that of the largest checkpoint there, so that the
// file need not grow when no space is left.
func (r *room) redoTarget() int64 {
	return largestCheckpoint * max(r.space.Usage().CheckpointBytes, space.MinCheckpointBytes)
}

// largestCheckpoint is how many times Usage.CheckpointBytes a checkpoint may be: changes that come while one runs wait
// for the next one.
const largestCheckpoint = 5

// ShapeRedo sets the size of the redo file where space is short. No checkpoint is under way: its content is not needed.
func (s *DB) ShapeRedo() error {
	u := s.room.space.Usage()
	if u.CheckpointBytes >= s.options.PartBytes {
		return nil
	}
	if err := s.redo.open(); err != nil {
		return s.failure.Fail(fmt.Errorf("%s: open the file: %w", s.files.RedoPath(), disk.Plain(err)))
	}
	want, has := s.room.redoTarget(), s.redo.size()
	switch {
	case has > want && u.Low:
		if err := s.redo.file.Truncate(want); err != nil {
			return s.failure.Fail(fmt.Errorf("%s: cut the file to its size: %w", s.files.RedoPath(), disk.Plain(err)))
		}
	case has < want && s.room.space.Reserve.Spare() > want:
		_ = unix.Fallocate(int(s.redo.file.Fd()), 0, has, want-has) // else it grows when it must
	}
	return nil
}
