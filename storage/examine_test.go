package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/disktest"
)

func examined(t *testing.T, dir string) *Examination {
	t.Helper()
	x, err := Examine(dir)
	must(t, err)
	must(t, x.Close())
	return x
}

// noted reports whether a note has the words.
func noted(x *Examination, words string) bool {
	for _, n := range x.Notes {
		if strings.Contains(n, words) {
			return true
		}
	}
	return false
}

func TestExamineReadsAnInterruptedCheckpoint(t *testing.T) {
	o := small
	o.CheckpointPartBytes = 1000
	s := open(t, t.TempDir(), o)
	logTo(t, s, 5)
	checkpointKeys(t, s, 0, 100, "old")
	logTo(t, s, 20)
	f := &listed{Slot: 9, Meta: []byte("meta of 9")}
	for i := range 100 {
		f.Changes = append(f.Changes, kv.Change{Kind: kv.KindData, Key: fmt.Appendf(nil, "key%06d", i),
			Value: make([]byte, 1000)}) // a part each
	}
	done := make(chan error)
	go func() { done <- checkpoint(s, f) }()
	for slot := uint64(5); slot == 5; slot, _ = s.Digest() { // until a part was made
		runtime.Gosched()
	}
	must(t, s.Close())
	wantError(t, <-done, ErrClosed)
	path := s.files.RedoPath()
	x := examined(t, s.files.Dir)
	if len(x.Problems) > 0 || x.State.Unfinished != 9 || !noted(x, "through slot 9 was interrupted") {
		t.Fatalf("%+v %+v %q", x.Problems, x.State, x.Notes)
	}
	good := readFile(t, path)
	bad := append([]byte(nil), good...)
	bad[len(bad)-1] ^= 1
	overwrite(t, path, bad)
	if x := examined(t, s.files.Dir); len(x.Problems) != 1 || x.Problems[0].File != disk.RedoName {
		t.Errorf("damaged: %+v", x.Problems)
	}
	must(t, os.Remove(path))
	if x := examined(t, s.files.Dir); len(x.Problems) != 1 || x.Problems[0].Text != "the file is missing" {
		t.Errorf("missing: %+v", x.Problems)
	}
}

func TestExamineReadsAReceivedSnapshot(t *testing.T) {
	v := snapshot(t, source(t))
	to := joined(t, t.TempDir())
	r := receiver(t, to, v.Header())
	for _, p := range pieces(t, v) {
		must(t, r.Add(p))
	}
	must(t, r.Finish())
	must(t, to.Close())
	if x := examined(t, to.files.Dir); len(x.Problems) > 0 || !noted(x, "a snapshot through slot 20 was received") {
		t.Fatalf("%+v %q", x.Problems, x.Notes)
	}
	b := readFile(t, to.files.ReceivedPath())
	b[len(b)/2] ^= 1
	overwrite(t, to.files.ReceivedPath(), b)
	x := examined(t, to.files.Dir)
	if len(x.Problems) > 0 || !noted(x, disk.ReceivedName+" does not hold") && !noted(x, "a snapshot through slot 20") {
		t.Errorf("damaged: %+v %q", x.Problems, x.Notes)
	}
	must(t, os.Truncate(to.files.ReceivedPath(), 100))
	if x := examined(t, to.files.Dir); len(x.Problems) > 0 || !noted(x, disk.ReceivedName+" does not hold") {
		t.Errorf("cut short: %+v %q", x.Problems, x.Notes)
	}
}

// Entries of the journal that log.db lacks are read, and shown behind log.db's entries.
func TestExamineReadsThePendingCommits(t *testing.T) {
	s := formed(t, t.TempDir())
	fill(t, s, 5, 10)
	must(t, s.log.Flush())
	must(t, s.Commit([]multipaxos.Persist{{Chosen: 4, Entries: []multipaxos.Entry{
		entry(5, 2, "newer"), entry(6, 2, "new")}}}))
	must(t, os.Remove(filepath.Join(s.files.Dir, lockName))) // as if its process had ended here
	x := examined(t, s.files.Dir)
	if len(x.Problems) > 0 || x.Journal.Records != 1 || x.Journal.Durable.Chosen != 4 || x.Journal.Durable.Last != 6 {
		t.Fatalf("%+v %+v", x.Problems, x.Journal)
	}
	var seen []string
	x.Entries(5, 9, func(e multipaxos.Entry, inJournal bool) bool {
		where := disk.LogName
		if inJournal {
			where = disk.JournalName
		}
		seen = append(seen, where+" "+string(e.Value))
		return true
	}, func(file string, err error) { t.Errorf("skipped in %s: %v", file, err) })
	got := strings.Join(seen, ", ")
	if !strings.HasPrefix(got, disk.LogName+" ") || !strings.HasSuffix(got, ", journal newer, journal new") {
		t.Errorf("%s", got)
	}
}

// Records of pages beside a damaged one are read, and it is said what is skipped.
func TestSalvageSkipsWhatIsDamaged(t *testing.T) {
	s := formed(t, t.TempDir())
	fill(t, s, 1, 1)
	checkpointKeys(t, s, 0, 2000, "v")
	must(t, s.Close())
	text := readFile(t, s.files.StatePath())
	leaf := disktest.PagesOf(t, text, disktest.Leaf)[3]
	leaf.SetID(leaf.ID + 1)
	overwrite(t, s.files.StatePath(), text)
	x := examined(t, s.files.Dir)
	if len(x.Problems) != 1 || x.Problems[0].File != disk.StateName {
		t.Errorf("%+v", x.Problems)
	}
	read, skipped := 0, 0
	x.Records(int(kv.KindData), []byte("key"), func(kv.RecordKind, []byte, []byte) bool { read++; return true },
		func(string, error) { skipped++ })
	if read < 1500 || read == 2000 || skipped == 0 {
		t.Errorf("%d records read, %d skipped", read, skipped)
	}
	few := 0
	x.Records(-1, nil, func(kv.RecordKind, []byte, []byte) bool { few++; return few < 10 }, func(string, error) {})
	if few != 10 {
		t.Errorf("%d records after it was enough", few)
	}
}
