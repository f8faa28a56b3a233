package recovery

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenure/internal/ident"
	"tenure/internal/lostfound"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/backup"
	"tenure/server/members"
	"tenure/storage"
)

// backup makes a backup of a node's directory.
func (w *world) backup(dir string) []byte {
	w.t.Helper()
	s, err := storage.Open(dir, small)
	w.must(err)
	defer s.Close()
	snapshot, err := s.Snapshot()
	w.must(err)
	defer snapshot.Close()
	m, err := backup.NewMaker(snapshot, time.UnixMilli(1))
	w.must(err)
	var all []byte
	for {
		b, err := m.Next()
		if err == io.EOF {
			return all
		}
		w.must(err)
		all = append(all, b...)
	}
}

func TestRestore(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	b := w.backup(w.make(2, log{state: 4, chosen: 4, restart: 7, user: time.Hour,
		entries: []string{"-", "a=1@once", "era", "b=2"}}))
	dir := filepath.Join(w.dir, "new")
	w.must(os.MkdirAll(filepath.Join(dir, unfinished, "left"), 0o700)) // by one that was interrupted
	w.must(os.Mkdir(filepath.Join(dir, lostfound.Name), 0o700))        // the root of a file system
	r, info, err := Restore(bytes.NewReader(b), dir)
	w.must(err)
	if info.Revision != 3 || info.Era != 1 || info.Cluster != (ident.ClusterID{1}) || r.Dir != dir || r.Node != 1 {
		t.Errorf("%+v %+v", info, r)
	}
	s, state, keys := w.result(r)
	if keys != "a=1 b=2" {
		t.Error(keys)
	}
	if !jumped(state) || r.Revision != state.Revision() {
		t.Errorf("revision %d, slot %d, era %d, %+v", state.Revision(), state.Applied(), state.Eras(), r)
	}
	id := s.Identity()
	if id.Cluster == info.Cluster || id.Cluster != r.Cluster || id.Node != 1 || !id.TakesPart() || len(id.Membership.All()) != 1 {
		t.Errorf("%+v", id)
	}
	if m := id.Membership.Members[0]; m.Name != "rack 1" || m.PeerAddr != "" {
		t.Errorf("%+v", m)
	}
	record, err := members.Decode(state.Members())
	if err != nil || record.NextNode != 4 {
		t.Errorf("%+v %v", record, err)
	}
	// Of the node that made the backup neither its restarts nor its promises nor its own quarantine.
	if got := s.StartRecord(); got != (storage.StartRecord{Restart: 1}) {
		t.Errorf("%+v", got)
	}
	if d := s.Durable(); d.Truncated != multipaxos.Slot(state.Applied()) || d.Promised.Node != 1 || d.Promised.Restart != 1 {
		t.Errorf("%+v", d)
	}
	again := kv.Command{Op: kv.OpSet, Key: "a", Value: []byte("2"), IdemKey: "once", Base: 1}
	results, err := state.Apply(state.Applied()+1, kv.AppendBatch(nil, kv.EncodeCommand(&again)))
	if err != nil || results[0].Code != kv.CodeKeyTooOld {
		t.Errorf("a retry of a write of the old cluster: %+v %v", results, err)
	}
}

// TestRestoreTakesTheNewestMembers: a cluster that has grown gives no id a second time.
func TestRestoreTakesTheNewestMembers(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	b := w.backup(w.make(2, log{state: 1, chosen: 1, entries: []string{"a=1"}, membership: grown}))
	r, _, err := Restore(bytes.NewReader(b), filepath.Join(w.dir, "new"))
	w.must(err)
	_, state, _ := w.result(r)
	record, err := members.Decode(state.Members())
	if err != nil || record.NextNode != 7 || r.Node != 2 {
		t.Errorf("%+v %+v %v", record, r, err)
	}
}

func TestRestoreIsWholeOrNotAtAll(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	b := w.backup(w.make(2, log{state: 2, chosen: 2, entries: []string{"a=1", "b=2"}}))
	for i := range b {
		damaged := bytes.Clone(b)
		damaged[i] ^= 0x10
		if i%7 != 0 && i != len(b)-1 { // the format's own test does all
			continue
		}
		dir := filepath.Join(w.dir, "damaged")
		if _, _, err := Restore(bytes.NewReader(damaged), dir); !errors.Is(err, backup.ErrDamaged) {
			t.Fatalf("byte %d: %v", i, err)
		}
		if files, err := os.ReadDir(dir); len(files) > 0 {
			t.Fatalf("byte %d: left %v %v", i, files, err)
		}
	}
	full := w.make(3, log{entries: []string{"a=1"}})
	if _, _, err := Restore(bytes.NewReader(b), full); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("into a directory with data: %v", err)
	}
}

// TestTwoRestoresIntoOneDirectory: a second restore is refused while the first one makes its files, even if it checked
// the directory before that, and deletes nothing there. When the first one has ended the directory is not empty.
func TestTwoRestoresIntoOneDirectory(t *testing.T) {
	w := newWorld(t, 1, 2, 3)
	small := w.backup(w.make(2, log{state: 1, chosen: 1, entries: []string{"a=1"}}))
	dir := filepath.Join(w.dir, "above", "new")
	never := func(string) (Result, error) { panic("it makes its files beside the other one") }
	r, err := whole(dir, func(tmp string) (Result, error) {
		w.must(os.MkdirAll(tmp, 0o700))
		for _, name := range []string{"log.db", "state.db"} {
			w.must(os.WriteFile(filepath.Join(tmp, name), []byte("first"), 0o600))
		}
		if _, _, err := Restore(bytes.NewReader(small), dir); !errors.Is(err, ErrRefused) ||
			!strings.Contains(err.Error(), "another restore") {
			t.Errorf("beside the first one: %v", err)
		}
		return Result{Node: 7}, nil
	})
	if err != nil || r.Node != 7 {
		t.Fatalf("%+v %v", r, err)
	}
	for _, name := range []string{"log.db", "state.db"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != "first" {
			t.Errorf("%s is %q, %v", name, b, err)
		}
	}
	if _, err := whole(dir, never); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("one that has looked at the directory before: %v", err)
	}
}
