package state

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"golang.org/x/sys/unix"

	"tenure/internal/oslimit"
	"tenure/kv"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/sealed"
	"tenure/storage/internal/space"
)

// The redo file holds the changes of a checkpoint of several parts, from its beginning. Each change has the kind, the
// lengths of key and record (4 bytes each, big-endian), the key, and a sealed record. The payload of the record is a
// byte and the value, or empty for a deletion. The bytes behind the changes are of earlier checkpoints. The content
// counts only by the marks of a checkpoint in the middle.

const (
	redoHeadBytes  = 1 + 4 + 4
	redoChunkBytes = 256 << 10
)

// putMark distinguishes a value, which may be empty, from a deletion.
var putMark = [1]byte{1}

// redo is the redo file.
type redo struct {
	files   disk.Files
	reserve *space.Reserve
	file    *os.File // open once it was needed
}

// write makes changes durable in the redo file, and notes in plan how to recognize them. It syncs after each syncBytes,
// so that the journal does not wait long for the disk.
func (r *redo) write(changes iter.Seq[kv.Change], plan *Plan, syncBytes int64) error {
	if err := r.open(); err != nil {
		return disk.Plain(err)
	}
	write := r.reserve.Insist(r.file, r.file.WriteAt)
	var synced int64
	buf := make([]byte, 0, redoChunkBytes)
	flush := func(last bool) error {
		if _, err := write(buf, plan.Bytes); err != nil {
			return disk.Plain(err)
		}
		plan.Bytes += int64(len(buf))
		buf = buf[:0]
		if plan.Bytes-synced < syncBytes && !last {
			return nil
		}
		if err := disk.DataSync(r.file); err != nil {
			return err
		}
		synced = plan.Bytes
		return nil
	}
	for c := range changes {
		if buf = appendRedo(buf, &c, &plan.Changes); len(buf) < redoChunkBytes {
			continue
		}
		if err := flush(false); err != nil {
			return err
		}
	}
	return flush(true)
}

// open opens the file, and makes it, with a durable name, if there is none.
func (r *redo) open() (err error) {
	if r.file != nil {
		return nil
	}
	r.file, err = oslimit.OpenFile(r.files.RedoPath(), os.O_RDWR, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if r.file, err = oslimit.OpenFile(r.files.RedoPath(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	return disk.SyncDir(r.files.Dir)
}

// size returns the size of the redo file, 0 if there is none.
func (r *redo) size() int64 {
	if r.file == nil {
		return 0
	}
	n, err := disk.Size(r.file)
	if err != nil {
		return 0
	}
	return n
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

// appendRedo adds c to buf and to the digest of the checkpoint's changes.
func appendRedo(buf []byte, c *kv.Change, all *sealed.Digest) []byte {
	buf = append(buf, byte(c.Kind))
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(c.Key)))
	payload := putMark[:]
	if c.Value == nil {
		payload = nil
	}
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(payload)+len(c.Value)+sealed.SumBytes))
	buf = append(buf, c.Key...)
	at := len(buf)
	buf = bucketSeeds[c.Kind].Seal(buf, c.Key, payload, c.Value)
	all.Add(buf[at:])
	return buf
}

// redoReader reads changes back.
type redoReader struct {
	r      *bufio.Reader
	left   int64 // bytes of the checkpoint that were not read yet
	last   *kv.Change
	digest sealed.Digest // of what was read
}

func newRedoReader(f io.ReaderAt, plan *Plan) *redoReader {
	return &redoReader{r: bufio.NewReaderSize(io.NewSectionReader(f, 0, plan.Bytes), redoChunkBytes), left: plan.Bytes}
}

// next returns the next change, in memory of its own.
func (r *redoReader) next() (*kv.Change, error) {
	var head [redoHeadBytes]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return nil, err
	}
	keyLen, recordLen := int64(binary.BigEndian.Uint32(head[1:])), int64(binary.BigEndian.Uint32(head[5:]))
	r.left -= redoHeadBytes
	if keyLen > sealed.MaxKeyBytes || recordLen < sealed.SumBytes || keyLen+recordLen > r.left {
		return nil, fmt.Errorf("a change of %d and %d bytes does not fit into it", keyLen, recordLen)
	}
	r.left -= keyLen + recordLen
	b := make([]byte, keyLen+recordLen)
	if _, err := io.ReadFull(r.r, b); err != nil {
		return nil, err
	}
	c := &kv.Change{Kind: kv.RecordKind(head[0]), Key: b[:keyLen:keyLen]}
	payload, err := bucketSeeds[c.Kind].Open(c.Key, b[keyLen:])
	if err != nil {
		return nil, fmt.Errorf("the change of key %q %w", c.Key, err)
	}
	if len(payload) > 0 {
		c.Value = payload[len(putMark):]
	}
	if err := follow(r.last, c); err != nil {
		return nil, fmt.Errorf("the change of key %q %w", c.Key, err)
	}
	r.last = c
	r.digest.Add(b[keyLen:])
	return c, nil
}

// rest hands the changes of plan that are still to be merged to yield. It ends early with an error in *err.
func (r *redoReader) rest(plan Plan, err *error) iter.Seq[kv.Change] {
	return func(yield func(kv.Change) bool) {
		for i := range plan.Changes.Count {
			var c *kv.Change
			if c, *err = r.next(); *err != nil || i >= plan.Done && !yield(*c) {
				return
			}
		}
	}
}

// CheckRedo reads all changes of plan from f, compares them with it, and keeps none.
func CheckRedo(f io.ReaderAt, plan *Plan) error {
	r := newRedoReader(f, plan)
	for range plan.Changes.Count {
		if _, err := r.next(); err != nil {
			return err
		}
	}
	if r.digest != plan.Changes || r.left != 0 {
		return fmt.Errorf("its %d changes are not those of the checkpoint through slot %d", plan.Changes.Count,
			plan.Slot)
	}
	return nil
}

// resumeCheckpoint makes the rest of a checkpoint that was interrupted between two of its parts, once the redo file
// is found whole.
func (s *DB) resumeCheckpoint() error {
	plan := s.checkpointed.Load().Plan
	if plan.Changes.Count == 0 {
		return nil
	}
	f, err := oslimit.OpenFile(s.files.RedoPath(), os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return disk.Damaged(s.files.RedoPath(), "the file is missing, and %s is in the middle of a checkpoint",
			disk.StateName)
	case err != nil:
		return disk.CannotOpen(s.files.RedoPath(), err)
	}
	s.redo.file = f
	if err := CheckRedo(f, &plan); err != nil {
		return disk.Damaged(s.files.RedoPath(), "%w", err)
	}
	s.counters.resumed.Add(1)
	var unread error
	if err := s.mergeParts(&plan, newRedoReader(f, &plan).rest(plan, &unread)); err != nil {
		return err
	}
	if unread != nil { // it was whole just now
		return disk.Damaged(s.files.RedoPath(), "%w", unread)
	}
	return nil
}
