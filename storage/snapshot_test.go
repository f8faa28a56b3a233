package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage/internal/disktest"
)

var testCluster = ident.ClusterID{9} // that formed makes

// source is a store with some thousand records in several spaces, one of which goes over many pieces.
func source(t testing.TB) *Store {
	t.Helper()
	s := formed(t, t.TempDir())
	fill(t, s, 20, 10)
	f := &listed{Slot: 20, Meta: []byte("meta")}
	put := func(kind kv.RecordKind, key string, value []byte) {
		f.Changes = append(f.Changes, kv.Change{Kind: kind, Key: []byte(key), Value: value})
	}
	for i := range 3000 {
		put(kv.KindData, fmt.Sprintf("key%06d", i), fmt.Appendf(nil, "value %d", i))
	}
	put(kv.KindData, "long", bytes.Repeat([]byte("long"), 60_000))
	put(kv.KindData, "short", []byte("s"))
	put(kv.KindDedup, "d", []byte("dedup"))
	put(kv.KindMembers, "record", []byte("members"))
	must(t, checkpoint(s, f))
	return s
}

// joined is a store of node 2 of the source's cluster, without anything.
func joined(t testing.TB, dir string) *Store { return joinedWith(t, dir, small) }

func joinedWith(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s := open(t, dir, o)
	me := ident.Member{Node: 2, Store: s.Identity().Store}
	must(t, s.Join(testCluster, 2, ident.Membership{Number: 1, Members: []ident.Member{me}}))
	return s
}

func snapshot(t testing.TB, s *Store) *Snapshot {
	t.Helper()
	v, err := s.Snapshot()
	must(t, err)
	t.Cleanup(v.Close)
	return v
}

// pieces are all pieces of v, of random sizes.
func pieces(t testing.TB, v *Snapshot) (all [][]byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	var at []byte
	for {
		piece, next, err := v.Piece(at, 1+r.IntN(50_000))
		must(t, err)
		all = append(all, piece)
		if len(next) == 0 {
			return all
		}
		at = next
	}
}

func receiver(t testing.TB, s *Store, header []byte) *Receiver {
	t.Helper()
	r, err := s.Receive(header)
	must(t, err)
	t.Cleanup(func() { r.Abort() })
	return r
}

// spaces is every record of the state database of s, as text.
func spaces(t testing.TB, s *Store) string {
	t.Helper()
	v, err := s.View()
	must(t, err)
	defer v.Close()
	var b strings.Builder
	slot, meta, err := s.Loaded()
	must(t, err)
	fmt.Fprintf(&b, "%d %q\n", slot, meta)
	for kind := range 256 {
		must(t, v.Ascend(kv.RecordKind(kind), nil, func(k, value []byte) bool {
			fmt.Fprintf(&b, "%d %s %s\n", kind, k, value)
			return true
		}))
	}
	return b.String()
}

// files of a snapshot that is under way or waits for the next Open.
func leftovers(t testing.TB, dir string) (names []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "state.*.receiv*"))
	must(t, err)
	return all
}

// A store that gets a snapshot has the state of the sender from the next Open on, and its own log above it.
func TestASnapshotIsTheState(t *testing.T) {
	for _, part := range []int64{1, 100 << 10, defaultCheckpointPartBytes} {
		from := source(t)
		v := snapshot(t, from)
		info, err := ParseSnapshot(v.Header())
		if err != nil || info.Slot != 20 || info.Records != 3004 || info.Bytes < 240_000 || v.Slot() != 20 {
			t.Fatalf("%+v, %v", info, err)
		}
		o := small
		o.CheckpointPartBytes = max(part, 10<<10)
		to := joinedWith(t, t.TempDir(), o)
		must(t, to.Start(StartRecord{Restart: 5, Quarantine: Quarantine{Master: 1, User: 2}}))
		must(t, to.Commit([]multipaxos.Persist{{Promised: bal(7), Chosen: 18, Entries: []multipaxos.Entry{
			entry(15, 5, "old"), entry(20, 5, "old"), entry(21, 6, "kept"), entry(23, 7, "kept too")}}}))
		start := to.StartRecord()
		r := receiver(t, to, v.Header())
		for _, p := range pieces(t, v) {
			must(t, r.Add(p))
		}
		before := spaces(t, to)
		must(t, r.Finish())
		if now := spaces(t, to); now != before {
			t.Error("the state changed before the store was opened again")
		}
		to = reopen(t, to)
		if got, want := spaces(t, to), spaces(t, from); got != want {
			t.Errorf("the state is not that of the sender: %d and %d bytes of text", len(got), len(want))
		}
		must(t, to.Verify(t.Context()))
		if d := to.Durable(); d != (multipaxos.Durable{Promised: bal(7), Chosen: 20, Truncated: 20, Last: 23}) {
			t.Errorf("%+v", d)
		}
		entries, err := to.Entries(0, 100, 1<<20)
		must(t, err)
		if len(entries) != 2 || string(entries[0].Value) != "kept" || string(entries[1].Value) != "kept too" {
			t.Errorf("entries %v", entries)
		}
		if id := to.Identity(); to.StartRecord() != start || id.Node != 2 || to.Stats().Installed != 20 {
			t.Errorf("%+v, %+v, %+v", id, to.StartRecord(), to.Stats())
		}
		must(t, to.Commit([]multipaxos.Persist{{Chosen: 23}}))
		checkpointKeys(t, to, 0, 500, "new")
		to = reopen(t, to)
		must(t, to.Verify(t.Context()))
		if left := leftovers(t, to.files.Dir); len(left) > 0 || to.Stats().Installed != 0 {
			t.Errorf("there is still %v", left)
		}
	}
}

// The state at the slot of a snapshot is what is sent, whatever is checkpointed meanwhile, and a position is good for
// another connection.
func TestASnapshotStaysAsItWas(t *testing.T) {
	s := source(t)
	v := snapshot(t, s)
	want := spaces(t, s)
	to := joined(t, t.TempDir())
	r := receiver(t, to, v.Header())
	var at []byte
	for i := 0; ; i++ {
		piece, next, err := v.Piece(bytes.Clone(at), 8000)
		must(t, err)
		if again, _, err := v.Piece(bytes.Clone(at), 8000); err != nil || !bytes.Equal(piece, again) {
			t.Fatalf("piece %d is another the second time, %v", i, err)
		}
		must(t, r.Add(piece))
		if at = next; len(next) == 0 {
			break
		}
		if i%4 == 0 {
			fill(t, s, 1, 10)
			checkpointKeys(t, s, 50*i, 50*i+300, fmt.Sprint("newer", i))
		}
	}
	must(t, r.Finish())
	if got := spaces(t, reopen(t, to)); got != want {
		t.Error("the snapshot is not the state of its slot")
	}
}

func TestTheMembershipOfASnapshotHolds(t *testing.T) {
	from := source(t)
	to := joined(t, t.TempDir())
	m := ident.Membership{Number: 4, Era: 3, Members: []ident.Member{{Node: 1, Store: from.Identity().Store},
		{Node: 2, Store: to.Identity().Store}}}
	must(t, from.SetMembership(m))
	v := snapshot(t, from)
	r := receiver(t, to, v.Header())
	for _, p := range pieces(t, v) {
		must(t, r.Add(p))
	}
	must(t, r.Finish())
	if got := reopen(t, to).Identity().Membership; got.String() != m.String() || got.Era != 3 {
		t.Errorf("membership %s of era %d", got, got.Era)
	}
}

// Pieces that are damaged, cut, doubled, left out or of another snapshot are noticed, and the right one is taken then.
func TestPiecesThatAreWrong(t *testing.T) {
	v := snapshot(t, source(t))
	all := pieces(t, v)
	other := source(t)
	fill(t, other, 1, 10)
	checkpointKeys(t, other, 0, 1, "other")
	others := pieces(t, snapshot(t, other))
	to := joined(t, t.TempDir())
	r := receiver(t, to, v.Header())
	rnd := rand.New(rand.NewPCG(3, 3))
	for i, p := range all {
		flipped := bytes.Clone(p)
		flipped[rnd.IntN(len(p))] ^= 1 << rnd.IntN(8)
		wrong := map[string][]byte{"flipped": flipped, "cut": p[:rnd.IntN(len(p))], "longer": append(bytes.Clone(p), 0),
			"nothing": nil, "of another snapshot": others[min(i, len(others)-1)]}
		if i > 0 {
			wrong["doubled"] = all[i-1]
		}
		if i+1 < len(all) {
			wrong["one too far"] = all[i+1]
		}
		for name, w := range wrong {
			if err := r.Add(w); !errors.Is(err, ErrBadPiece) {
				t.Fatalf("piece %d %s: %v", i, name, err)
			}
		}
		must(t, r.Add(p))
	}
	must(t, r.Finish())
}

func TestSnapshotsThatAreRefused(t *testing.T) {
	from := source(t)
	header := snapshot(t, from).Header()
	s := joined(t, t.TempDir())
	fill(t, s, 40, 10)
	checkpointKeys(t, s, 0, 3, "own")
	_, err := s.Receive(header)
	wantError(t, err, ErrRefused, "which is at slot 40")
	other := open(t, t.TempDir(), small)
	must(t, other.Join(ident.ClusterID{1}, 2, ident.Membership{Number: 1,
		Members: []ident.Member{{Node: 2, Store: other.Identity().Store}}}))
	_, err = other.Receive(header)
	wantError(t, err, ErrRefused, "of cluster")
	s = joined(t, t.TempDir())
	must(t, from.SetMembership(ident.Membership{Number: 2, Members: []ident.Member{{Node: 1, Store: from.Identity().Store},
		{Node: 2, Store: ident.StoreID{1}}}}))
	_, err = s.Receive(snapshot(t, from).Header())
	wantError(t, err, ErrRefused, "another store")
	damaged := bytes.Clone(header)
	damaged[3] ^= 1
	_, err = s.Receive(damaged)
	wantError(t, err, ErrBadPiece, "header")
	r := receiver(t, s, header)
	_, err = s.Receive(header)
	wantError(t, err, ErrRefused, "another snapshot")
	must(t, r.Abort())
	if left := leftovers(t, s.files.Dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	must(t, receiver(t, s, header).Abort())
	if _, err := open(t, t.TempDir(), small).Snapshot(); !errors.Is(err, ErrRefused) {
		t.Errorf("a snapshot of nothing: %v", err)
	}
}

// The next start removes the snapshot that a dead process was receiving. A whole snapshot is not installed if it is not
// ahead any more, or was damaged since.
func TestSnapshotsThatAreNotInstalled(t *testing.T) {
	type row struct {
		spoil func(t *testing.T, s *Store)
		note  string
	}
	v := snapshot(t, source(t))
	all := pieces(t, v)
	finished := func(t *testing.T, s *Store) {
		r := receiver(t, s, v.Header())
		for _, p := range all {
			must(t, r.Add(p))
		}
		must(t, r.Finish())
	}
	for name, row := range map[string]row{
		"abandoned": {func(t *testing.T, s *Store) {
			must(t, receiver(t, s, v.Header()).Add(all[0]))
		}, ""},
		"behind": {func(t *testing.T, s *Store) {
			finished(t, s)
			fill(t, s, 40, 10)
			checkpointKeys(t, s, 0, 3, "own")
		}, "not needed"},
		"damaged": {func(t *testing.T, s *Store) {
			finished(t, s)
			f, err := os.OpenFile(s.files.ReceivedPath(), os.O_RDWR, 0)
			must(t, err)
			defer f.Close()
			text := readFile(t, s.files.ReceivedPath())
			newest, _ := disktest.MetaAt(t, text)
			root := binary.NativeEndian.Uint64(text[newest+disktest.HeadBytes+16:])
			_, err = f.WriteAt([]byte{0xff}, int64(root)*4096+10)
			must(t, err)
		}, "was dropped"},
		"without checksums": {func(t *testing.T, s *Store) {
			finished(t, s)
			must(t, os.Remove(s.files.ReceivedSumsPath()))
		}, "was dropped"},
		"of another store": {func(t *testing.T, s *Store) {
			other := joined(t, t.TempDir())
			finished(t, other)
			must(t, os.WriteFile(s.files.ReceivedPath(), readFile(t, other.files.ReceivedPath()), 0o600))
			must(t, os.WriteFile(s.files.ReceivedSumsPath(), readFile(t, other.files.ReceivedSumsPath()), 0o600))
		}, "was dropped"},
	} {
		t.Run(name, func(t *testing.T) {
			s := joined(t, t.TempDir())
			row.spoil(t, s)
			before := mustContent(t, s)
			s = reopen(t, s)
			if mustContent(t, s) != before || s.Stats().Installed != 0 || len(leftovers(t, s.files.Dir)) > 0 {
				t.Errorf("the store is not what it was, or has %v", leftovers(t, s.files.Dir))
			}
			if notes := strings.Join(s.Notes(), "\n"); !strings.Contains(notes, row.note) {
				t.Errorf("notes %q", notes)
			}
		})
	}
}
