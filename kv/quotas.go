package kv

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/tidwall/btree"

	"tenure/api"
)

// Quota bounds the keys that start with a prefix, and says what they take. A byte is one of a key or of its value; what
// the store keeps beside them is not counted.
type Quota struct {
	Prefix    string // has at least one byte
	Bytes     uint64 // most bytes; 0: any number
	Keys      uint64 // most keys; 0: any number
	UsedBytes uint64
	UsedKeys  uint64
	// Counting: what was there when the quota was set is being counted, and the numbers are of what was counted so far.
	Counting bool
}

// quota is a Quota in the table; never changed once it is there.
type quota struct {
	Quota
	// next, while it is counting: the keys below it are counted, and only those change the numbers.
	next  string
	steps uint64 // of counting so far: the Arm of the next one
}

// counts reports whether key, which starts with the prefix, is among what is counted.
func (q *quota) counts(key string) bool { return !q.Counting || key < q.next }

// quotas is the quotas by prefix. A key counts for every quota whose prefix it starts with.
type quotas struct{ byPrefix *btree.Map[string, *quota] }

func newQuotas() quotas { return quotas{byPrefix: btree.NewMap[string, *quota](0)} }

func (q *quotas) copy() quotas { return quotas{byPrefix: q.byPrefix.Copy()} }

// each calls fn with the quotas for which key counts, that of the longest prefix first, until fn returns false. It
// looks at no more quotas than key has bytes.
func (q *quotas) each(key string, fn func(*quota) bool) {
	for from := key; from != ""; {
		var at *quota
		q.byPrefix.Descend(from, func(_ string, e *quota) bool {
			at = e
			return false
		})
		if at == nil {
			return
		}
		if strings.HasPrefix(key, at.Prefix) {
			if !fn(at) {
				return
			}
			from = at.Prefix[:len(at.Prefix)-1]
			continue
		}
		// A prefix of key that is below at.Prefix is no longer than what both have in common.
		from = key[:common(key, at.Prefix)]
	}
}

// common returns how many bytes a and b begin with that are the same.
func common(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// cover reports whether key counts for any quota.
func (q *quotas) cover(key string) (covered bool) {
	if q.byPrefix.Len() == 0 {
		return false
	}
	q.each(key, func(*quota) bool {
		covered = true
		return false
	})
	return covered
}

// growth is how much more, or less, is kept under a key after a command than before.
type growth struct {
	key         string
	bytes, keys int64
}

// grows returns what it means for key that e takes the place of old; a zero old is no entry, and a nil e a deletion.
func grows(key string, e, old *Entry) growth {
	g := growth{key: key}
	if old.ModifyIndex != 0 {
		g.bytes, g.keys = -int64(len(key)+len(old.Value)), -1
	}
	if e != nil {
		g.bytes += int64(len(key) + len(e.Value))
		g.keys++
	}
	return g
}

// charge counts g.
func (q *quotas) charge(g growth) {
	if q.byPrefix.Len() == 0 || g.bytes == 0 && g.keys == 0 {
		return
	}
	q.each(g.key, func(at *quota) bool {
		if !at.counts(g.key) {
			return true
		}
		next := *at
		next.UsedBytes += uint64(g.bytes)
		next.UsedKeys += uint64(g.keys)
		q.byPrefix.Set(next.Prefix, &next)
		return true
	})
}

// over returns the first quota that does not allow more, of the longest prefix, or false if all do. less is what the
// same command takes away elsewhere. What does not grow is always allowed, also beyond a quota. While a quota is
// counting it may allow too much, since less is known than there is, and never too little.
func (q *quotas) over(more, less growth) (OverQuota, bool) {
	var o OverQuota
	if q.byPrefix.Len() == 0 {
		return o, false
	}
	q.each(more.key, func(at *quota) bool {
		bytes, keys := more.bytes, more.keys
		if less.key != "" && strings.HasPrefix(less.key, at.Prefix) {
			bytes, keys = bytes+less.bytes, keys+less.keys
		}
		switch {
		case at.Bytes > 0 && bytes > 0 && at.UsedBytes+uint64(bytes) > at.Bytes:
			o = OverQuota{Prefix: at.Prefix, Limit: at.Bytes, Used: at.UsedBytes, More: uint64(bytes)}
		case at.Keys > 0 && keys > 0 && at.UsedKeys+uint64(keys) > at.Keys:
			o = OverQuota{Prefix: at.Prefix, Keys: true, Limit: at.Keys, Used: at.UsedKeys, More: uint64(keys)}
		}
		return o.Prefix == ""
	})
	return o, o.Prefix != ""
}

// countPause is the time between two steps of counting: they share the log with clients.
const countPause = 10 * time.Millisecond

// countBytes ends a step of counting that has read so many bytes, as Limits.CountKeys does: it holds up other commands
// for some milliseconds only, whatever there is to be counted.
const countBytes = 4 << 20

// setQuota carries out OpQuota.
func (x *executor) setQuota(c *Command) (Result, error) {
	table := x.reg.quotas.byPrefix
	old, there := table.Get(c.Key)
	switch {
	case c.Arm != 0 && (!there || !old.Counting || old.steps != c.Arm):
		return x.unchanged(CodeCondition), nil
	case c.Arm != 0:
		return x.countOn(*old)
	case len(c.Value) == 0:
		if there {
			table.Delete(c.Key)
			x.notes.time(old.timed(0))
		}
		return x.unchanged(CodeDone), nil
	case !there && table.Len() >= x.limits.Quotas:
		return x.unchanged(CodeFull), nil
	}
	bytes, keys, _ := parseQuotaLimits(c.Value)
	if there {
		next := *old
		next.Bytes, next.Keys = bytes, keys
		table.Set(next.Prefix, &next)
		return x.unchanged(CodeDone), nil
	}
	return x.countOn(quota{Quota: Quota{Prefix: c.Key, Bytes: bytes, Keys: keys, Counting: true}, next: c.Key})
}

// resetQuotas makes every quota one of no keys, counted to the end: for who puts other keys in the place of all.
func (x *executor) resetQuotas() {
	fresh := newQuotas()
	x.reg.quotas.byPrefix.Scan(func(prefix string, q *quota) bool {
		x.notes.time(q.timed(0))
		fresh.byPrefix.Set(prefix, &quota{Quota: Quota{Prefix: prefix, Bytes: q.Bytes, Keys: q.Keys}, steps: q.steps})
		return true
	})
	x.reg.quotas = fresh
}

// timed returns the time that runs for a step of counting, or with an after of 0 that it has ended.
func (q *quota) timed(after time.Duration) Timed {
	if !q.Counting {
		return Timed{}
	}
	return Timed{Kind: TimedQuota, Name: q.Prefix, Arm: q.steps, After: after}
}

// countOn counts some more of what q covers, and makes it the quota of its prefix. What comes later counts itself, as
// far as it is below what was counted. All nodes count the same keys in the same step, wherever each has them.
func (x *executor) countOn(q quota) (Result, error) {
	was := q
	q.steps++
	var keys, bytes int
	var broken error
	whole := true
	err := x.entries.scan(span{lo: q.next, hi: prefixEnd(q.Prefix)}, func(h *hit) bool {
		if keys == x.limits.CountKeys || bytes >= countBytes {
			q.next, whole = h.name(), false
			return false
		}
		var e Entry
		e, broken = h.peek()
		keys++
		bytes += len(e.Key) + len(e.Value)
		return broken == nil
	})
	if err == nil {
		err = broken
	}
	if err != nil {
		return Result{}, err
	}
	q.UsedKeys += uint64(keys)
	q.UsedBytes += uint64(bytes)
	if whole {
		x.notes.time(was.timed(0))
		q.Counting, q.next = false, ""
	}
	x.reg.quotas.byPrefix.Set(q.Prefix, &q)
	x.notes.time(q.timed(countPause))
	return x.unchanged(CodeDone), nil
}

// overQuota returns the refusal of a command under which more is kept, if a quota does not allow that.
func (x *executor) overQuota(more, less growth) (Result, bool) {
	o, over := x.reg.quotas.over(more, less)
	if !over {
		return Result{}, false
	}
	r := x.unchanged(CodeQuota)
	r.Body = o.encode()
	return r, true
}

// QuotaLimits returns the Value of an OpQuota that sets a quota. One of them must be above 0.
func QuotaLimits(bytes, keys uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint([]byte{recordVersion}, bytes), keys)
}

func parseQuotaLimits(b []byte) (bytes, keys uint64, ok bool) {
	r := reader{b: b}
	r.version()
	bytes, keys = r.uvarint(), r.uvarint()
	return bytes, keys, !r.bad && len(r.b) == 0 && bytes|keys != 0 && max(bytes, keys) <= MaxQuota
}

// MaxQuota is the largest limit of a quota.
const MaxQuota = api.MaxQuota

// Quota returns the quota of a prefix.
func (v *Snapshot) Quota(prefix string) (Quota, bool) {
	if q, there := v.quotas.byPrefix.Get(prefix); there {
		return q.Quota, true
	}
	return Quota{}, false
}

// Quotas returns all quotas, by prefix; at most Limits.Quotas.
func (v *Snapshot) Quotas() []Quota { return v.quotas.list() }

// Quotas returns all quotas, by prefix; at most Limits.Quotas. It changes nothing in s, like Get.
func (s *State) Quotas() []Quota { return s.exec.reg.quotas.list() }

func (q *quotas) list() []Quota {
	all := make([]Quota, 0, q.byPrefix.Len())
	q.byPrefix.Scan(func(_ string, e *quota) bool {
		all = append(all, e.Quota)
		return true
	})
	return all
}
