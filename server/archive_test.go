package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"

	"tenure/api"
	"tenure/kv"
	"tenure/server/archive"
	"tenure/server/archiver"
	"tenure/server/backup/target"
	"tenure/server/recovery"
	"tenure/storage"
)

// archived gives a node an archive in dir.
func archived(t *testing.T, dir string) func(*Config) { return archivedIn(openTarget(t, dir)) }

func archivedIn(x target.Target) func(*Config) {
	return func(c *Config) {
		c.Archive = Archive{Target: x, Readable: true,
			Schedule: archive.Schedule{FullEvery: time.Hour, Keep: time.Hour, VerifyEvery: time.Hour}}
	}
}

func openTarget(t *testing.T, dir string) target.Target {
	t.Helper()
	x, err := target.Open(dir, target.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// anotherCluster is the id of one that may share a target.
const anotherCluster = "abababababababababababababababab"

// listing lists the archive in x that is not of anotherCluster.
func listing(t *testing.T, x target.Target) archive.Listing {
	t.Helper()
	all, err := x.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range all {
		if !strings.HasPrefix(o.Name, anotherCluster) {
			names = append(names, o.Name)
		}
	}
	clusters := archive.Clusters(names)
	if len(clusters) != 1 {
		t.Fatalf("archives of %v", clusters)
	}
	return archive.List(clusters[0], names)
}

// reading is everything as a reader saw it at a revision: one line for each key.
type reading struct {
	revision uint64
	keys     string
}

// writeAndRead lists everything through h again and again while writers write through h.
func writeAndRead(t *testing.T, h *host, times int) (seen []reading) {
	t.Helper()
	stop := make(chan struct{})
	var writers sync.WaitGroup
	defer writers.Wait()
	defer close(stop)
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprintf("/v1/kv/w%d/%d", w, i%7)
				if i%5 == 4 {
					h.call(http.MethodDelete, key, "")
				} else {
					h.call(http.MethodPut, key+"?flags="+strconv.Itoa(i), fmt.Sprint(h.cfg.Node, " ", i))
				}
			}
		})
	}
	for len(seen) < times {
		seen = append(seen, readAll(t, h))
	}
	return seen
}

// readAll lists everything through h. The index of a listing of everything is the revision, since only keys change.
func readAll(t *testing.T, h *host) (r reading) {
	t.Helper()
	code, text, header := h.call(http.MethodGet, "/v1/kv/?recurse", "")
	var entries []struct {
		Key                                        string
		Value                                      []byte
		Flags, CreateIndex, ModifyIndex, LockIndex uint64
	}
	err := json.Unmarshal([]byte(text), &entries)
	if code == 200 && err == nil {
		r.revision, err = strconv.ParseUint(header.Get("X-Tenure-Index"), 10, 64)
	}
	if code != 200 || err != nil {
		t.Fatalf("%d %s %v", code, text, err)
	}
	for _, e := range entries {
		r.keys += fmt.Sprintln(e.Key, string(e.Value), e.Flags, e.CreateIndex, e.ModifyIndex, e.LockIndex)
	}
	return r
}

// restored restores the archive in x to at, and returns what is there.
func restored(t *testing.T, x target.Target, at archive.At) (string, recovery.Restored) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new")
	r, got, err := recovery.RestoreArchive(t.Context(), archiver.Objects{Target: x}, listing(t, x), at, dir,
		func(s string) { t.Error(s) }, func(recovery.Restored) {})
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if r.Revision < got.Revision+1<<40 {
		t.Errorf("restored at %d, and goes on at %d", got.Revision, r.Revision)
	}
	s, err := storage.Open(dir, storage.Options{LogInitialBytes: 64 << 10, JournalBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	state, err := kv.Open(s, kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	view, err := state.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	var b strings.Builder
	err = view.Walk(kv.Range{}, func(e kv.Entry) bool {
		fmt.Fprintln(&b, e.Key, string(e.Value), e.Flags, e.CreateIndex, e.ModifyIndex, e.LockIndex)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), got
}

// archiveOf returns what h says of the archive.
func (h *host) archiveOf(t *testing.T) api.ArchiveStatus {
	t.Helper()
	s := h.status(t).Archive
	if s == nil {
		t.Fatal("no archive")
	}
	return *s
}

// TestArchive writes, has another node go on with the archive when the master stops, writes on, and restores what
// readers saw at revisions under both.
func TestArchive(t *testing.T) {
	x := openTarget(t, t.TempDir())
	hosts := startCluster(t, 3, archived(t, x.String()))
	m := master(t, hosts)
	if code, text, _ := m.call(http.MethodPut, "/v1/kv/first", "1"); code != 200 {
		t.Fatal(text)
	}
	m.until(t, "verified", func() bool { return m.archiveOf(t).Verified != nil })
	seen := writeAndRead(t, m, 40)
	m.stop(t)
	next := master(t, hosts)
	next.until(t, "archiving", func() bool { return next.archiveOf(t).Active })
	seen = append(seen, writeAndRead(t, next, 40)...)
	last := readAll(t, next)
	next.until(t, "archived", func() bool { s := next.archiveOf(t); return s.Active && s.LagSlots == 0 })
	for _, h := range hosts {
		if h.done != nil {
			h.until(t, "told of the archive", func() bool { s := h.archiveOf(t); return s.LagSlots == 0 && s.Verified != nil })
		}
	}
	for i := 0; i < len(seen); i += 16 {
		if got, r := restored(t, x, archive.At{Revision: seen[i].revision}); got != seen[i].keys || r.Revision != seen[i].revision {
			t.Errorf("at revision %d a reader saw\n%s\nand what was restored at %d is\n%s", seen[i].revision, seen[i].keys, r.Revision, got)
		}
	}
	if got, r := restored(t, x, archive.At{}); got != last.keys || r.Revision != last.revision {
		t.Errorf("in the end a reader saw at %d\n%s\nand what was restored at %d is\n%s", last.revision, last.keys, r.Revision, got)
	}
	if got, r := restored(t, x, archive.At{Time: time.Now()}); got != last.keys {
		t.Errorf("now a reader saw at %d\n%s\nand what was restored at %d is\n%s", last.revision, last.keys, r.Revision, got)
	}
	if l := listing(t, x); len(l.Fulls) != 1 {
		t.Errorf("%d full copies: the one who came later made another", len(l.Fulls))
	}
}

// flaky is a target that loses the answer for every other segment that it stores, as if the process died then. While it
// is down it stores no new segment.
type flaky struct {
	target.Target
	down          atomic.Bool
	puts, refused atomic.Int64
	stored        sync.Map // names
}

func (f *flaky) Put(ctx context.Context, name string, r io.Reader) error {
	if !strings.Contains(name, "/log/") {
		return f.Target.Put(ctx, name, r)
	}
	if _, again := f.stored.Load(name); !again && f.down.Load() {
		f.refused.Add(1)
		return errors.New("the target is down")
	}
	err := f.Target.Put(ctx, name, r)
	f.stored.Store(name, true)
	if err != nil || f.puts.Add(1)%2 == 0 {
		return err
	}
	return errors.New("the answer is lost")
}

// TestATargetThatFailsLosesNothing archives to a flaky target, encrypted, stops the master while the target is down,
// and compares the reported archive position with the archive.
func TestATargetThatFailsLosesNothing(t *testing.T) {
	keys, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	x := target.Encrypted(openTarget(t, t.TempDir()), []age.Recipient{keys.Recipient()}, []age.Identity{keys})
	f := &flaky{Target: x}
	hosts := startCluster(t, 3, archivedIn(f))
	m := master(t, hosts)
	if code, text, _ := m.call(http.MethodPut, "/v1/kv/first", "1"); code != 200 {
		t.Fatal(text)
	}
	m.until(t, "verified", func() bool { return m.archiveOf(t).Verified != nil })
	seen := writeAndRead(t, m, 20)
	m.until(t, "archived", func() bool { return m.archiveOf(t).LagSlots == 0 })
	f.down.Store(true)
	seen = append(seen, writeAndRead(t, m, 20)...)
	m.until(t, "in trouble", func() bool { return f.refused.Load() > 0 && m.archiveOf(t).Problem != "" })
	l := listing(t, x)
	if end, _ := l.End(); end.Last != m.archiveOf(t).Slot {
		t.Errorf("slot %d is said to be archived, and the archive ends at %d", m.archiveOf(t).Slot, end.Last)
	}
	m.stop(t)
	next := master(t, hosts)
	f.down.Store(false)
	seen = append(seen, writeAndRead(t, next, 20)...)
	last := readAll(t, next)
	next.until(t, "archived", func() bool { s := next.archiveOf(t); return s.Active && s.LagSlots == 0 })
	for _, r := range []reading{seen[5], seen[len(seen)/2], last} {
		if got, _ := restored(t, x, archive.At{Revision: r.revision}); got != r.keys {
			t.Errorf("at revision %d a reader saw\n%s\nand what was restored is\n%s", r.revision, r.keys, got)
		}
	}
}
