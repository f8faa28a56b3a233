package kv

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// modelQuota is a quota; what it uses is counted anew whenever somebody asks.
type modelQuota struct {
	bytes, keys uint64
	counting    bool
	next        string
	steps       uint64
}

// allQuotas returns the quotas as Snapshot.Quotas has them.
func (m *model) allQuotas() []Quota {
	all := []Quota{}
	for _, prefix := range slices.Sorted(maps.Keys(m.quotas)) {
		q := m.quotas[prefix]
		at := Quota{Prefix: prefix, Bytes: q.bytes, Keys: q.keys, Counting: q.counting}
		for _, k := range m.keys(prefix) {
			if !q.counting || k < q.next {
				at.UsedKeys++
				at.UsedBytes += uint64(len(k) + len(m.entries[k].Value))
			}
		}
		all = append(all, at)
	}
	return all
}

// size returns all that the keys under prefix take.
func (m *model) size(prefix string) (bytes, keys uint64) {
	for _, k := range m.keys(prefix) {
		keys++
		bytes += uint64(len(k) + len(m.entries[k].Value))
	}
	return bytes, keys
}

// within does what write does, unless a quota has less space than that takes.
func (m *model) within(write func() Result) Result {
	before := m.clone()
	quotas := m.allQuotas()
	slices.SortFunc(quotas, func(a, b Quota) int { return len(b.Prefix) - len(a.Prefix) })
	r := write()
	for _, q := range quotas {
		bytes, keys := before.size(q.Prefix)
		moreBytes, moreKeys := m.size(q.Prefix)
		o := OverQuota{Prefix: q.Prefix}
		switch {
		case q.Bytes > 0 && moreBytes > bytes && q.UsedBytes+moreBytes-bytes > q.Bytes:
			o.Limit, o.Used, o.More = q.Bytes, q.UsedBytes, moreBytes-bytes
		case q.Keys > 0 && moreKeys > keys && q.UsedKeys+moreKeys-keys > q.Keys:
			o.Keys, o.Limit, o.Used, o.More = true, q.Keys, q.UsedKeys, moreKeys-keys
		default:
			continue
		}
		*m = *before
		r = m.answer(CodeQuota)
		r.Body = o.encode()
		return r
	}
	return r
}

func (m *model) quota(c Command) Result {
	q, there := m.quotas[c.Key]
	switch {
	case c.Arm != 0 && (!there || !q.counting || q.steps != c.Arm):
		return m.answer(CodeCondition)
	case c.Arm != 0:
	case len(c.Value) == 0:
		delete(m.quotas, c.Key)
		return m.answer(CodeDone)
	case !there && len(m.quotas) >= m.l.Quotas:
		return m.answer(CodeFull)
	default:
		q.bytes, q.keys, _ = ParseQuotaLimits(c.Value)
		if there {
			m.quotas[c.Key] = q
			return m.answer(CodeDone)
		}
		q.counting = true
	}
	q.steps++
	left := m.l.CountKeys
	q.counting = slices.ContainsFunc(m.keys(c.Key), func(k string) bool {
		if k < q.next {
			return false
		}
		if left == 0 {
			q.next = k
		}
		left--
		return left < 0
	})
	m.quotas[c.Key] = q
	return m.answer(CodeDone)
}

// drawQuota draws an OpQuota: a step of counting, the end of a quota, or one that is full soon.
func drawQuota(t *rapid.T, m *model, c *Command) {
	for _, prefix := range slices.Sorted(maps.Keys(m.quotas)) {
		if q := m.quotas[prefix]; q.counting && rapid.Bool().Draw(t, "count") {
			c.Key, c.Value, c.Arm = prefix, nil, q.steps+uint64(rapid.IntRange(0, 1).Draw(t, "stale"))
			return
		}
	}
	c.Key = rapid.SampledFrom([]string{"a", "a/", "a/b", "b", "b/", "é"}).Draw(t, "prefix")
	if c.Value = nil; rapid.IntRange(0, 3).Draw(t, "end") > 0 {
		bytes, keys := m.size(c.Key)
		c.Value = QuotaLimits(bytes+uint64(rapid.IntRange(1, 12).Draw(t, "bytes")),
			rapid.SampledFrom([]uint64{0, 1, keys, keys + 1}).Draw(t, "keys"))
	}
}

// TestQuotasFollowTheModel is TestStateFollowsTheModel with little besides quotas and what counts for them.
func TestQuotasFollowTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := DefaultLimits
		l.Quotas = rapid.IntRange(2, 4).Draw(rt, "quotas")
		l.CountKeys = rapid.IntRange(1, 4).Draw(rt, "keys counted at a time")
		w := newWorld(t, l)
		w.ops = []Op{OpSet, OpSet, OpSet, OpDelete, OpPrune, OpAdd, OpRename, OpRename,
			OpTransaction, OpTransaction, OpQuota, OpQuota, OpQuota, OpSessionCreate, OpSessionDestroy}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			w.step(rt)
			if d := cmp.Diff(w.model.allQuotas(), w.Quotas()); d != "" {
				rt.Fatalf("quotas: %s", d)
			}
		}
	})
}
