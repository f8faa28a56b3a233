package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenure/server/archive"
	"tenure/server/archiver"
	"tenure/server/backup/target"
	"tenure/server/recovery"
)

// archivedAs gives a node an archive in x, with a schedule, for which so much of the log is kept.
func archivedAs(x target.Target, s archive.Schedule, keepLogBytes int64) func(*Config) {
	return func(c *Config) {
		archivedIn(x)(c)
		c.Archive.Schedule, c.Archive.KeepLogBytes = s, keepLogBytes
		c.QuotaBytes = 128 << 20 // small checkpoints, and a short tail of the log
	}
}

var (
	once  = archive.Schedule{FullEvery: time.Hour, Keep: time.Hour, VerifyEvery: time.Hour}
	often = archive.Schedule{FullEvery: time.Hour, Keep: time.Hour, VerifyEvery: time.Second}
)

// put writes ten keys again and again, with values of 200 kB.
func (h *host) put(t *testing.T, times int) {
	t.Helper()
	for i := range times {
		h.ok(t, http.MethodPut, fmt.Sprintf("/v1/kv/put/%d", i%10), strings.Repeat(fmt.Sprint(i%7), 200_000))
	}
}

// archivedWholly waits until everything is archived and verified behind slot.
func (h *host) archivedWholly(t *testing.T, slot uint64) {
	t.Helper()
	h.untilWithin(t, time.Minute, "archived and verified", func() bool {
		s := h.archiveOf(t)
		return s.Active && s.LagSlots == 0 && s.Problem == "" && s.Verified != nil && s.Verified.Slot > slot
	})
}

// restoreError is what a restore to a revision fails with.
func restoreError(t *testing.T, x target.Target, revision uint64) error {
	t.Helper()
	_, _, err := recovery.RestoreArchive(t.Context(), archiver.Objects{Target: x}, listing(t, x),
		archive.At{Revision: revision}, filepath.Join(t.TempDir(), "new"), func(string) {}, func(recovery.Restored) {})
	return err
}

// away is a target that cannot be reached while it is down.
type away struct {
	target.Target
	down atomic.Bool
}

func (a *away) Put(ctx context.Context, name string, r io.Reader) error {
	if a.down.Load() {
		return errors.New("the target is down")
	}
	return a.Target.Put(ctx, name, r)
}

func (a *away) List(ctx context.Context, prefix string) ([]target.Object, error) {
	if a.down.Load() {
		return nil, errors.New("the target is down")
	}
	return a.Target.List(ctx, prefix)
}

// TestAGapInTheArchiveIsShown: the target is away for longer than the log is kept for it. States before the gap and
// after the next full copy can be restored. A restore to a revision inside the gap says that its slots are missing.
func TestAGapInTheArchiveIsShown(t *testing.T) {
	f := &away{Target: openTarget(t, t.TempDir())}
	h := makeCluster(t, 1, archivedAs(f, once, 1<<20))[0]
	log := h.watchLog()
	h.start(t)
	h.awaitReady(t)
	h.put(t, 5)
	h.archivedWholly(t, 0)
	before := readAll(t, h)
	h.until(t, "archived", func() bool { return h.archiveOf(t).LagSlots == 0 })
	f.down.Store(true)
	end := h.archiveOf(t).Slot
	h.put(t, 1)
	missing := readAll(t, h)
	h.untilWithin(t, time.Minute, "rid of what is not archived", func() bool {
		h.put(t, 10)
		time.Sleep(200 * time.Millisecond) // the log is looked at once a second, and the quota is not to be reached
		return h.status(t).Truncated > end
	})
	growing := h.archiveOf(t)
	if growing.Gap == nil || growing.Gap.First != end+1 || growing.Gap.FoundMS != 0 || growing.Problem == "" {
		t.Errorf("the log is truncated through slot %d, and the archive ends at %d: %+v, gap %+v",
			h.status(t).Truncated, end, growing, growing.Gap)
	}
	if !log.has("is too large and is not kept any more: the archive may get a gap") {
		t.Error("the log does not say that it is not kept any more")
	}
	f.down.Store(false)
	h.untilWithin(t, time.Minute, "archived behind the gap", func() bool {
		h.put(t, 1) // or it shows only at the next look at the target, after 15 s
		s := h.archiveOf(t)
		return s.Problem == "" && s.Full.Slot > end && s.Slot > end && s.Gap != nil && s.Gap.FoundMS != 0
	})
	gap := h.archiveOf(t).Gap
	if gap.First <= end || gap.Last < gap.First { // a segment that was made before comes first, if there is one
		t.Fatalf("%+v", gap)
	}
	if full := h.archiveOf(t).Full; full == nil || full.Slot < gap.Last {
		t.Errorf("there is no full copy behind the gap %+v: %+v", gap, full)
	}
	if !log.has("the archive has a gap") || !strings.Contains(metricsOf(h), "\ntenure_archive_gaps_total 1\n") {
		t.Error("neither the log nor a figure tell of the gap")
	}
	h.put(t, 5)
	last := readAll(t, h)
	h.until(t, "archived", func() bool { return h.archiveOf(t).LagSlots == 0 })
	for _, r := range []reading{before, last} {
		if got, at := restored(t, f, archive.At{Revision: r.revision}); got != r.keys {
			t.Errorf("at revision %d: %d bytes, and what was restored at %d has %d", r.revision, len(r.keys),
				at.Revision, len(got))
		}
	}
	if gap.First > end+1 {
		return // the first of what was written meanwhile is in that segment
	}
	err := restoreError(t, f, missing.revision)
	if want := fmt.Sprintf("the slots %d to ", end+1); !errors.Is(err, archive.ErrNotThere) ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("a restore to what is missing: %v", err)
	}
}

// damageNewest flips a bit in the middle of the newest object of a kind, as the archive in dir has it.
func damageNewest(t *testing.T, dir, kind string) (name string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*", kind))
	if err != nil || len(all) == 0 {
		t.Fatal(len(all), err)
	}
	name = all[len(all)-1] // names sort like slots
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestDamageInTheArchiveIsHealed: the scheduled verification finds a damaged object, names it, and a new full copy is
// made at once, after which everything can be restored again.
func TestDamageInTheArchiveIsHealed(t *testing.T) {
	for kind, glob := range map[string]string{"full copy": "full/*", "segment": "log/*/*"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			x := openTarget(t, dir)
			h := makeCluster(t, 1, archivedAs(x, often, 0))[0]
			log := h.watchLog()
			h.start(t)
			h.awaitReady(t)
			h.put(t, 5)
			h.archivedWholly(t, 0)
			h.put(t, 5)
			h.archivedWholly(t, 0)
			old := h.archiveOf(t).Full.Slot
			name := damageNewest(t, dir, glob)
			h.untilWithin(t, time.Minute, "noticed", func() bool {
				return strings.Contains(metricsOf(h), `tenure_archive_failures_total{what="verify"} 1`)
			})
			h.put(t, 5)
			h.archivedWholly(t, old)
			for _, said := range []string{"archiving fails", filepath.Base(name), "is damaged",
				"a full copy was made because the archive is damaged", "archiving works again"} {
				if !log.has(said) {
					t.Errorf("the log does not say %q", said)
				}
			}
			last := readAll(t, h)
			h.until(t, "archived", func() bool { return h.archiveOf(t).LagSlots == 0 })
			if got, _ := restored(t, x, archive.At{Revision: last.revision}); got != last.keys {
				t.Error("what was restored is not what was read")
			}
			if l := listing(t, x); len(l.Fulls) != 2 {
				t.Errorf("%d full copies", len(l.Fulls))
			}
		})
	}
}

// TestRetentionDeletesOnlyWhatIsNotNeeded: each state read within the retention time can be restored, older segments
// and full copies are deleted, and files outside this archive stay.
func TestRetentionDeletesOnlyWhatIsNotNeeded(t *testing.T) {
	const keep = 4 * time.Second
	dir := t.TempDir()
	x := openTarget(t, dir)
	foreign := map[string][]byte{"notes.txt": []byte("mine"),
		anotherCluster + "/full/00000000000000000009-00000000000000000009-1700000000000-1": []byte("another's")}
	for name, b := range foreign {
		if err := x.Put(t.Context(), name, bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
	}
	h := startCluster(t, 1, archivedAs(x,
		archive.Schedule{FullEvery: 2 * time.Second, Keep: keep, VerifyEvery: time.Second}, 0))[0]
	h.put(t, 1)
	h.archivedWholly(t, 0)
	type read struct {
		reading
		at time.Time
	}
	var seen []read
	gone := func() bool { // the first full copies and the segments before the oldest one that is kept
		l := listing(t, x)
		return len(seen) > 0 && len(l.Fulls) > 2 && l.Fulls[0].Revision > seen[0].revision &&
			(len(l.Segments) == 0 || l.Segments[0].Last > l.Fulls[0].Slot)
	}
	for begin := time.Now(); !gone() || time.Since(begin) < 3*keep; time.Sleep(200 * time.Millisecond) {
		h.put(t, 2)
		seen = append(seen, read{readAll(t, h), time.Now()})
		if time.Since(begin) > time.Minute {
			l := listing(t, x)
			t.Fatalf("%d full copies and %d segments are there after a minute", len(l.Fulls), len(l.Segments))
		}
	}
	h.until(t, "archived", func() bool { return h.archiveOf(t).LagSlots == 0 })
	tried := 0
	for i := len(seen) - 1; i >= 0 && time.Since(seen[i].at) < keep; i -= 4 {
		if got, _ := restored(t, x, archive.At{Revision: seen[i].revision}); got != seen[i].keys {
			t.Errorf("what was read %v ago at revision %d is not restored", time.Since(seen[i].at), seen[i].revision)
		}
		tried++
	}
	if err := restoreError(t, x, seen[0].revision); !errors.Is(err, archive.ErrNotThere) || tried == 0 {
		t.Errorf("%d revisions restored; the first one: %v", tried, err)
	}
	for name := range foreign {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(b, foreign[name]) {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
}
