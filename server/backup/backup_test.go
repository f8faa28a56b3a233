package backup

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/frames"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage"
)

var made = time.UnixMilli(1_790_000_000_123)

// snapshot opens a snapshot of a state with n keys of so many bytes.
func snapshot(t testing.TB, n, bytesEach int) *storage.Snapshot {
	t.Helper()
	s, err := storage.Open(t.TempDir(), storage.Options{LogInitialBytes: 64 << 10, JournalBytes: 64 << 10})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	must(t, s.SetNode(2))
	m := ident.Membership{Number: 1, Members: []ident.Member{{Node: 2, Store: s.Identity().Store}}}
	must(t, s.Found(ident.ClusterID{7}, m))
	must(t, s.Start(storage.StartRecord{Restart: 1, Bucket: time.Second}))
	state, err := kv.Open(s, kv.DefaultLimits)
	must(t, err)
	batch := kv.AppendBatch(nil, kv.EncodeCommand(&kv.Command{Op: kv.OpNewEra, IdemKey: "run", Base: 1}))
	for i := range n {
		c := kv.Command{Op: kv.OpSet, Key: fmt.Sprintf("key%04d", i), Value: bytes.Repeat([]byte{byte(i)}, bytesEach)}
		batch = kv.AppendBatch(batch, kv.EncodeCommand(&c))
	}
	_, err = state.Apply(1, batch)
	must(t, err)
	must(t, s.Commit([]multipaxos.Persist{{Seq: 1, Chosen: 1,
		Entries: []multipaxos.Entry{{Slot: 1, Ballot: ballot.Ballot{Counter: 1, Restart: 1, Node: 2}}}}}))
	must(t, s.Checkpoint(state.Freeze().Checkpoint()))
	out, err := s.Snapshot()
	must(t, err)
	t.Cleanup(out.Close)
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// parts returns the parts of a backup as Maker hands them out.
func parts(t testing.TB, s *storage.Snapshot) (all [][]byte) {
	t.Helper()
	m, err := NewMaker(s, made)
	must(t, err)
	for {
		b, err := m.Next()
		if err == io.EOF {
			return all
		}
		must(t, err)
		all = append(all, bytes.Clone(b))
	}
}

// read reads a backup to its end.
func read(r io.Reader) (info Info, keys []string, err error) {
	b, err := Open(r)
	if err != nil {
		return info, nil, err
	}
	err = b.Records(func(c kv.Change) error {
		if c.Kind == kv.KindData {
			keys = append(keys, string(c.Key))
		}
		return nil
	})
	return b.Info(), keys, err
}

func TestABackupIsReadAsItWasMade(t *testing.T) {
	all := bytes.Join(parts(t, snapshot(t, 40, 100_000)), nil) // several pieces, with records across them
	for _, r := range []io.Reader{bytes.NewReader(all), iotest.OneByteReader(bytes.NewReader(all))} {
		info, keys, err := read(r)
		must(t, err)
		if len(keys) != 40 || keys[39] != "key0039" || !slices.IsSorted(keys) {
			t.Errorf("keys %q", keys)
		}
		if info.Cluster != (ident.ClusterID{7}) || info.Slot != 1 || info.Revision != 41 || info.Era != 1 ||
			!info.Made.Equal(made) || info.Records < 40 {
			t.Errorf("%+v", info)
		}
	}
}

// What GET /v1/snapshot gives has a backup in it, and is none.
func TestACompressedFileIsNoBackup(t *testing.T) {
	_, _, err := read(strings.NewReader("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "tar -xzOf FILE state.bin") {
		t.Error(err)
	}
}

// TestEveryByteCounts flips a bit of every byte, and cuts the backup off before every byte.
func TestEveryByteCounts(t *testing.T) {
	all := bytes.Join(parts(t, snapshot(t, 3, 10)), nil)
	for i := range all {
		damaged := bytes.Clone(all)
		damaged[i] ^= 1 << (i % 8)
		for what, b := range map[string][]byte{"flipped": damaged, "cut off": all[:i]} {
			_, _, err := read(bytes.NewReader(b))
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "at byte ") {
				t.Fatalf("byte %d of %d %s: %v", i, len(all), what, err)
			}
		}
	}
	if _, _, err := read(bytes.NewReader(append(all, 0))); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte more: %v", err)
	}
}

func TestFramesThatAreMovedAreNoticed(t *testing.T) {
	f := parts(t, snapshot(t, 40, 100_000))
	other := parts(t, snapshot(t, 41, 100_000))
	if len(f) < 6 {
		t.Fatalf("only %d frames", len(f))
	}
	at := len(f[0]) + len(f[1])
	for name, c := range map[string]struct {
		parts [][]byte
		at    int
	}{
		"missing":         {slices.Concat(f[:2], f[3:]), at},
		"doubled":         {slices.Concat(f[:2], f[1:]), at},
		"swapped":         {slices.Concat(f[:2], [][]byte{f[3], f[2]}, f[4:]), at},
		"without pieces":  {[][]byte{f[0], f[len(f)-1]}, len(f[0])},
		"without end":     {f[:len(f)-1], len(bytes.Join(f[:len(f)-1], nil))},
		"another's piece": {slices.Concat(f[:1], other[1:2], f[2:]), len(f[0])},
	} {
		_, _, err := read(bytes.NewReader(bytes.Join(c.parts, nil)))
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("at byte %d:", c.at)) {
			t.Errorf("%s: %v, want byte %d", name, err, c.at)
		}
	}
}

// TestAFrameOfNoPlace gives every frame the right checksum for its new place, so that only the contents show the
// damage.
func TestAFrameOfNoPlace(t *testing.T) {
	f := parts(t, snapshot(t, 40, 100_000))
	other := parts(t, snapshot(t, 41, 100_000))
	for name, parts := range map[string][][]byte{
		"missing": slices.Concat(f[:2], f[3:]), "doubled": slices.Concat(f[:2], f[1:]),
		"another's piece": slices.Concat(f[:1], other[1:2], f[2:]), "another's end": slices.Concat(f[:len(f)-1], other[len(other)-1:]),
		"an unknown kind": slices.Concat(f[:1], [][]byte{{9, 0, 0, 0, 0, 0, 0, 0, 0}}, f[1:]),
	} {
		all := bytes.Clone(parts[0])
		for _, b := range parts[1:] {
			body := b[:len(b)-frames.SumBytes]
			all = binary.BigEndian.AppendUint32(append(all, body...), frames.Sum(uint64(len(all)), body))
		}
		if _, _, err := read(bytes.NewReader(all)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorsOfTheReaderAreItsOwn(t *testing.T) {
	all := bytes.Join(parts(t, snapshot(t, 3, 10)), nil)
	broken := errors.New("the disk is gone")
	for _, n := range []int{0, 20, len(all) - 3, len(all)} {
		_, _, err := read(io.MultiReader(bytes.NewReader(all[:n]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || errors.Is(err, ErrDamaged) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
	b, err := Open(bytes.NewReader(all))
	must(t, err)
	if err := b.Records(func(kv.Change) error { return broken }); err != broken {
		t.Errorf("%v", err)
	}
}

func FuzzRead(f *testing.F) {
	all := bytes.Join(parts(f, snapshot(f, 3, 10)), nil)
	f.Add(all)
	f.Add(all[:len(all)/2])
	f.Add([]byte(format.Magic + "\x00\x00\x00\x01\x01\xff\xff\xff\xff"))
	f.Add([]byte(format.Magic + "\x00\x00\x00\x02"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, err := read(bytes.NewReader(b))
		if err != nil && !errors.Is(err, ErrDamaged) { // nil: the seed, of which each process of the fuzzer makes its own
			t.Errorf("%v", err)
		}
	})
}
