package kv

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// model is the state machine as one would explain it: a map, and a list of all idempotency keys ever used.
type model struct {
	l        Limits
	entries  map[string]Entry
	revision uint64
	used     []modelKey
	dropped  int // used[:dropped] are forgotten
}

type modelKey struct {
	key, what string
	result    Result
}

func (m *model) clone() *model {
	c := *m
	c.entries = map[string]Entry{}
	for k, e := range m.entries {
		c.entries[k] = e
	}
	return &c
}

func (m *model) apply(c Command) Result {
	answer := func(code Code) Result { return Result{Code: code, Revision: m.revision} }
	what := fmt.Sprint(c.Op, c.Key, c.Value, c.Flags, c.HasIndex, c.Index)
	if c.IdemKey != "" {
		for i := len(m.used) - 1; i >= m.dropped; i-- {
			if u := m.used[i]; u.key == c.IdemKey {
				if u.what != what {
					return answer(CodeKeyReused)
				}
				return u.result
			}
		}
		for _, u := range m.used[:m.dropped] {
			if c.Base <= u.result.Revision {
				return answer(CodeKeyTooOld)
			}
		}
		if c.Base > m.revision {
			return answer(CodeBaseAhead)
		}
	}
	r := m.execute(c, answer)
	if c.IdemKey != "" {
		m.used = append(m.used, modelKey{c.IdemKey, what, r})
	}
	for m.dropped < len(m.used) {
		if len(m.used)-m.dropped <= m.l.DedupEntries && m.used[m.dropped].result.Revision+m.l.DedupRevisions > m.revision {
			break
		}
		m.dropped++
	}
	return r
}

func (m *model) execute(c Command, answer func(Code) Result) Result {
	old, found := m.entries[c.Key]
	var gone []string
	switch c.Op {
	case OpSet:
		if c.HasIndex && c.Index == 0 && found || c.HasIndex && c.Index > 0 && (!found || old.ModifyIndex != c.Index) {
			return answer(CodeCondition)
		}
		m.revision++
		e := Entry{Key: c.Key, Value: c.Value, Flags: c.Flags, CreateIndex: m.revision, ModifyIndex: m.revision}
		if found {
			e.CreateIndex = old.CreateIndex
		}
		m.entries[c.Key] = e
		return answer(CodeDone)
	case OpDelete:
		if found && c.HasIndex && old.ModifyIndex != c.Index {
			return answer(CodeCondition)
		}
		if found {
			gone = []string{c.Key}
		}
	case OpPrune:
		gone = m.keys(c.Key)
	}
	if len(gone) > m.l.PruneKeys {
		return answer(CodeTooMany)
	}
	if len(gone) > 0 {
		m.revision++
	}
	for _, k := range gone {
		delete(m.entries, k)
	}
	r := answer(CodeDone)
	r.Count = uint64(len(gone))
	return r
}

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
	drawKey    = rapid.SampledFrom([]string{"a", "a/", "a/b", "a/b/c", "a/b/d", "a/c", "a0", "b", "b/\x00", "b/x", "é", "\u07ff", "\U0010ffff"})
	drawPrefix = rapid.SampledFrom([]string{"", "a", "a/", "a/b", "a/b/", "b", "zz", "é", "\U0010ffff"})
)

func drawCommand(t *rapid.T, m *model) Command {
	c := Command{Op: rapid.SampledFrom([]Op{OpSet, OpSet, OpSet, OpDelete, OpDelete, OpPrune}).Draw(t, "op")}
	c.Key = drawKey.Draw(t, "key")
	switch c.Op {
	case OpPrune:
		c.Key = drawPrefix.Draw(t, "prefix")
	case OpSet:
		c.Value = []byte(rapid.SampledFrom([]string{"", "x", "yy"}).Draw(t, "value"))
		c.Flags = rapid.Uint64Range(0, 1).Draw(t, "flags")
	}
	if c.Op != OpPrune && rapid.Bool().Draw(t, "conditional") {
		c.HasIndex = true
		c.Index = rapid.SampledFrom([]uint64{0, m.entries[c.Key].ModifyIndex, 1}).Draw(t, "index")
	}
	if rapid.Bool().Draw(t, "keyed") {
		c.IdemKey = rapid.StringMatching("[k-p]").Draw(t, "idem")
		back := rapid.Uint64Range(0, 8).Draw(t, "back")
		c.Base = m.revision - min(back, m.revision)
		if back == 8 {
			c.Base = m.revision + 1
		}
	}
	return c
}

func drawRange(t *rapid.T) Range {
	r := Range{Prefix: drawPrefix.Draw(t, "prefix"), Reverse: rapid.Bool().Draw(t, "reverse"), Limit: rapid.IntRange(0, 4).Draw(t, "limit")}
	if rapid.Bool().Draw(t, "from a start") {
		r.Start, r.After = drawKey.Draw(t, "start"), rapid.Bool().Draw(t, "after")
	}
	return r
}

// world is the machine beside its model, with the log to replay after a restart and the snapshots still open.
type world struct {
	*machine
	model *model
	log   [][]byte
	held  []heldSnapshot
	frost *Frozen
}

type heldSnapshot struct {
	*Snapshot
	model *model
}

func (w *world) step(t *rapid.T) {
	switch rapid.SampledFrom([]string{"apply", "apply", "apply", "freeze", "merge", "folded", "restart", "hold", "check"}).Draw(t, "step") {
	case "apply":
		var batch []byte
		var want []Result
		for range rapid.IntRange(0, 4).Draw(t, "commands") {
			c := drawCommand(t, w.model)
			batch = AppendBatch(batch, EncodeCommand(&c))
			want = append(want, w.model.apply(c))
		}
		got, err := w.Apply(w.Applied()+1, batch)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("results %+v, want %+v, %v", got, want, err)
		}
		w.log = append(w.log, batch)
	case "freeze":
		if f := w.Freeze(); f != nil {
			w.frost = f
		}
	case "merge": // views show it before the state is told
		if w.frost != nil && w.image.slot < w.frost.Slot() {
			w.image.Merge(w.frost.Fold())
		}
	case "folded":
		if w.frost != nil && w.image.slot == w.frost.Slot() {
			if err := w.Folded(); err != nil {
				t.Fatal(err)
			}
			w.frost = nil
		}
	case "restart":
		before := w.digest()
		w.reopen()
		w.frost = nil
		for _, batch := range w.log[w.Applied():] {
			if _, err := w.Apply(w.Applied()+1, batch); err != nil {
				t.Fatal(err)
			}
		}
		if w.digest() != before {
			t.Fatal("image and tail make another state than before the restart")
		}
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
}

func TestStateFollowsTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := Limits{
			DedupEntries:   rapid.IntRange(1, 5).Draw(rt, "dedup entries"),
			DedupRevisions: rapid.Uint64Range(1, 9).Draw(rt, "dedup revisions"),
			PruneKeys:      rapid.IntRange(3, 20).Draw(rt, "prune keys"),
			Sessions:       3, Locks: 4, ExpiringKeys: 3, Fences: 3, Tombstones: 5,
		}
		w := &world{machine: newMachine(t, l), model: &model{l: l, entries: map[string]Entry{}}}
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

// The same log gives the same bytes, whenever each node folds.
func TestReplayIsDeterministic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{machine: newMachine(t, small), model: &model{l: small, entries: map[string]Entry{}}}
		other := newMachine(t, small)
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			w.step(rt)
			for other.Applied() < w.Applied() {
				if _, err := other.Apply(other.Applied()+1, w.log[other.Applied()]); err != nil {
					rt.Fatal(err)
				}
			}
			if rapid.Bool().Draw(rt, "fold the other") {
				other.fold()
			}
			if w.digest() != other.digest() {
				rt.Fatalf("digests differ at slot %d", w.Applied())
			}
		}
	})
}
