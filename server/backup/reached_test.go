package backup

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"tenure/internal/codec"
	"tenure/internal/frames"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage"
)

// numbers is the beginning of kv's own record.
type numbers struct {
	Format, Slot, Revision, Floor, First, Next           uint64
	SessionsIndex, LeaseFloor, KVFloor, TombstoneFloor   uint64
	Sessions, Held, Expiring, Delays, Fences, Tombstones uint64
	Eras, Members                                        uint64
}

// crafted opens a snapshot whose checksums are right and whose numbers are edited.
func crafted(t *testing.T, edit func(*numbers)) *storage.Snapshot {
	s, err := storage.Open(t.TempDir(), storage.Options{LogInitialBytes: 64 << 10, JournalBytes: 64 << 10})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	must(t, s.SetNode(2))
	state, err := kv.Open(s, kv.DefaultLimits)
	must(t, err)
	_, err = state.Apply(1, kv.AppendBatch(nil, kv.EncodeCommand(&kv.Command{Op: kv.OpSet, Key: "a"})))
	must(t, err)
	c := state.Freeze().Checkpoint()
	var n numbers
	must(t, codec.Unmarshal(c.Meta, &n))
	edit(&n)
	c.Meta = codec.Marshal(&n)
	must(t, s.Commit([]multipaxos.Persist{{Seq: 1, Chosen: 1, Entries: []multipaxos.Entry{{Slot: 1}}}}))
	must(t, s.Checkpoint(c))
	out, err := s.Snapshot()
	must(t, err)
	t.Cleanup(out.Close)
	return out
}

// TestWhatNoNodeReaches: a file that says more than a node can have reached is refused at its header, and no backup is
// made that says so.
func TestWhatNoNodeReaches(t *testing.T) {
	for name, edit := range map[string]func(*numbers){
		"eras that an install would wrap":      func(n *numbers) { n.Eras = math.MaxUint64 - 5 },
		"revisions that an install would wrap": func(n *numbers) { n.Revision = math.MaxUint64 - 1<<40 - 2 },
		"idempotency keys that would wrap":     func(n *numbers) { n.First, n.Next = math.MaxUint64, math.MaxUint64 },
	} {
		s := crafted(t, edit)
		file := frames.Append(format.Begin(), frames.PreludeBytes, kindHeader,
			codec.Marshal(&header{Snapshot: s.Header()}))
		_, err := Open(bytes.NewReader(file))
		if !errors.Is(err, ErrDamaged) || errors.Is(err, kv.ErrDamaged) ||
			!strings.Contains(err.Error(), "was not made by a node of Tenure") {
			t.Errorf("%s: read: %v", name, err)
		}
		if _, err := NewMaker(s, made); err == nil || !strings.Contains(err.Error(), "cannot be made") {
			t.Errorf("%s: made: %v", name, err)
		}
	}
	if _, err := NewMaker(crafted(t, func(*numbers) {}), made); err != nil {
		t.Error(err)
	}
}
