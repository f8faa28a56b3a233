package kv

import (
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func (m *model) keys(prefix string) []string {
	var keys []string
	for k := range m.entries {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	return keys
}

// list is what Keys must show.
func (m *model) list(r Range, separator string) []string {
	cut := func(k string) string {
		if strings.HasPrefix(k, r.Prefix) && separator != "" {
			if head, _, found := strings.Cut(k[len(r.Prefix):], separator); found {
				return r.Prefix + head + separator
			}
		}
		return k
	}
	var names []string
	start := cut(r.Start)
	for _, k := range m.keys(r.Prefix) {
		k = cut(k)
		if r.Start != "" && (r.After && k == start || !r.Reverse && k < start || r.Reverse && k > start) {
			continue
		}
		names = append(names, k)
	}
	sort.Strings(names)
	names = slices.Compact(names)
	if r.Reverse {
		slices.Reverse(names)
	}
	if r.Limit > 0 && len(names) > r.Limit {
		names = names[:r.Limit]
	}
	return names
}

var (
	drawKey = rapid.SampledFrom([]string{"a", "a/", "a/b", "a/b/c", "a/b/d", "a/c", "a0", "b", "b/\x00", "b/x", "é",
		"\u07ff", "\U0010ffff"})
	drawPrefix = rapid.SampledFrom([]string{"", "a", "a/", "a/b", "a/b/", "b", "zz", "é", "\U0010ffff"})
)

func drawRange(t *rapid.T) Range {
	r := Range{Prefix: drawPrefix.Draw(t, "prefix"), Reverse: rapid.Bool().Draw(t, "reverse"),
		Limit: rapid.IntRange(0, 4).Draw(t, "limit")}
	if rapid.Bool().Draw(t, "from a start") {
		r.Start, r.After = drawKey.Draw(t, "start"), rapid.Bool().Draw(t, "after")
	}
	return r
}

// world is the machine beside its model, with the log to replay after a restart and the snapshots still open.
type world struct {
	*machine
	model *model
	log   []func(slot uint64, s *State) error
	held  []heldSnapshot
	frost *Frozen
	next  *Frozen // follows frost
	// parted is the checkpoint of which a part is in the state database.
	parted *Checkpoint
	seen   mirror
	ops    []Op // that are drawn
}

type heldSnapshot struct {
	*Snapshot
	model *model
}

func (w *world) step(t *rapid.T) {
	switch rapid.SampledFrom([]string{"apply", "apply", "apply", "freeze", "freeze next", "merge some", "merge",
		"folded", "restart", "hold", "check", "members"}).Draw(t, "step") {
	case "apply":
		var batch []byte
		var want []Result
		for range rapid.IntRange(0, 4).Draw(t, "commands") {
			c := drawCommand(t, w.model, w.ops)
			batch = AppendBatch(batch, EncodeCommand(&c))
			want = append(want, w.model.apply(c))
		}
		got, err := w.Apply(w.Applied()+1, batch)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("results %+v, want %+v, %v", got, want, err)
		}
		w.log = append(w.log, func(slot uint64, s *State) error {
			_, err := s.Apply(slot, batch)
			return err
		})
		w.seen.check(t, w)
	case "members":
		w.setMembers(t, rapid.SampledFrom([]string{"m", "members", "others"}).Draw(t, "record"),
			rapid.Uint64Range(0, 5).Draw(t, "era"))
	case "freeze":
		if f := w.Freeze(); f != nil {
			w.frost = f
		}
	case "freeze next":
		if f := w.FreezeNext(); f != nil {
			w.next = f
		}
	case "merge some":
		if w.frost != nil && w.stateDB.slot < w.frost.Slot() {
			f := w.frost.Checkpoint()
			w.parted = f
			w.stateDB.MergeSome(f, rapid.IntRange(0, len(listed(f))).Draw(t, "changes"))
		}
	case "merge": // views show it before the state is told
		if w.frost != nil && w.stateDB.slot < w.frost.Slot() {
			w.stateDB.Merge(w.frost.Checkpoint())
			w.parted = nil
		}
	case "folded":
		if w.frost != nil && w.stateDB.slot == w.frost.Slot() {
			if err := w.Checkpointed(); err != nil {
				t.Fatal(err)
			}
			w.frost, w.next = w.next, nil
		}
	case "restart":
		before := w.digest()
		if w.parted != nil { // as storage.Open does
			w.stateDB.Merge(w.parted)
			w.parted = nil
		}
		w.reopen()
		w.frost, w.next = nil, nil
		for _, entry := range w.log[w.Applied():] {
			if err := entry(w.Applied()+1, w.State); err != nil {
				t.Fatal(err)
			}
		}
		if w.digest() != before {
			t.Fatal("state database and tail make another state than before the restart")
		}
		w.observe()
	case "hold":
		s, err := w.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		w.held = append(w.held, heldSnapshot{s, w.model.clone()})
	case "check":
		for _, h := range w.held {
			checkSnapshot(t, h)
			h.Close()
		}
		w.held = nil
	}
}

// setMembers applies a record of members, which no command sees.
func (w *world) setMembers(t *rapid.T, record string, era uint64) {
	entry := func(slot uint64, s *State) error { return s.SetMembers(slot, []byte(record), era) }
	before := w.Eras()
	if err := entry(w.Applied()+1, w.State); err != nil {
		t.Fatal(err)
	}
	if string(w.Members()) != record || w.Eras() != max(before, era) || w.Revision() != w.model.revision {
		t.Fatalf("members %q, era %d after %d, revision %d", w.Members(), w.Eras(), before, w.Revision())
	}
	w.log = append(w.log, entry)
}

func checkSnapshot(t *rapid.T, h heldSnapshot) {
	r := drawRange(t)
	var entries []string
	err := h.Walk(r, func(e Entry) bool { entries = append(entries, show(e, true)); return true })
	names := h.model.list(r, "")
	var want []string
	for _, k := range names {
		want = append(want, show(h.model.entries[k], true))
	}
	if err != nil || !slices.Equal(entries, want) {
		t.Fatalf("walk %+v: %q, want %q, %v", r, entries, want, err)
	}
	if n, err := h.Count(r); err != nil || n != len(names) {
		t.Fatalf("count %+v: %d, want %d, %v", r, n, len(names), err)
	}
	separator := rapid.SampledFrom([]string{"", "/", "b/", "0"}).Draw(t, "separator")
	var keys []string
	err = h.Keys(r, separator, func(k string) bool { keys = append(keys, k); return true })
	if want := h.model.list(r, separator); err != nil || !slices.Equal(keys, want) {
		t.Fatalf("keys %+v by %q: %q, want %q, %v", r, separator, keys, want, err)
	}
	key := drawKey.Draw(t, "key")
	e, found, err := h.Get(key)
	m, exists := h.model.entries[key]
	if err != nil || show(e, found) != show(m, exists) {
		t.Fatalf("get %q: %s, want %s, %v", key, show(e, found), show(m, exists), err)
	}
	if h.Revision() != h.model.revision {
		t.Fatalf("revision %d, want %d", h.Revision(), h.model.revision)
	}
	checkSessions(t, h)
	if d := cmp.Diff(h.model.allQuotas(), h.Quotas()); d != "" {
		t.Fatalf("quotas: %s", d)
	}
	if got, want := h.Deleted(r.Prefix), h.model.deleted(r.Prefix); got != want {
		t.Fatalf("deleted under %q at %d, want %d", r.Prefix, got, want)
	}
}

func TestStateFollowsTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := Limits{
			DedupEntries:   rapid.IntRange(1, 5).Draw(rt, "dedup entries"),
			DedupRevisions: rapid.Uint64Range(1, 9).Draw(rt, "dedup revisions"),
			PruneKeys:      rapid.IntRange(3, 20).Draw(rt, "prune keys"),
			Sessions:       rapid.IntRange(1, 3).Draw(rt, "sessions"),
			Locks:          rapid.IntRange(1, 6).Draw(rt, "locks"),
			ExpiringKeys:   rapid.IntRange(1, 4).Draw(rt, "expiring keys"),
			Fences:         rapid.IntRange(1, 3).Draw(rt, "fences"),
			Tombstones:     rapid.IntRange(1, 8).Draw(rt, "tombstones"),
			Quotas:         rapid.IntRange(1, 3).Draw(rt, "quotas"),
			Policies:       2,
			Tokens:         2,
			CountKeys:      rapid.IntRange(1, 4).Draw(rt, "keys counted at a time"),
		}
		w := newWorld(t, l)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			w.step(rt)
			for _, k := range []string{"a", "a/b", "b/\x00", "\U0010ffff"} {
				e, found, err := w.Get(k)
				m, exists := w.model.entries[k]
				if err != nil || show(e, found) != show(m, exists) {
					rt.Fatalf("get %q: %s, want %s, %v", k, show(e, found), show(m, exists), err)
				}
			}
			if w.Revision() != w.model.revision {
				rt.Fatalf("revision %d, want %d", w.Revision(), w.model.revision)
			}
		}
	})
}

// The same log gives the same bytes, whenever each node checkpoints.
func TestReplayIsDeterministic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, small)
		other := newMachine(t, small)
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			w.step(rt)
			for other.Applied() < w.Applied() {
				if err := w.log[other.Applied()](other.Applied()+1, other.State); err != nil {
					rt.Fatal(err)
				}
			}
			if rapid.Bool().Draw(rt, "checkpoint the other") {
				other.takeCheckpoint()
			}
			if w.digest() != other.digest() {
				rt.Fatalf("digests differ at slot %d", w.Applied())
			}
		}
	})
}
