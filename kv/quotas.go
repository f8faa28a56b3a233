package kv

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/tidwall/btree"

	"tenure/api"
)

// Quota bounds the keys that start with a prefix, and has their current use. Bytes are those of keys and values; the
// overhead of the store is not counted.
type Quota struct {
	Prefix    string // never empty
	Bytes     uint64 // limit of bytes; 0 if unlimited
	Keys      uint64 // limit of keys; 0 if unlimited
	UsedBytes uint64
	UsedKeys  uint64
	// Counting is true while the keys that existed when the quota was set are still being counted; UsedBytes and
	// UsedKeys are then those of the keys counted so far.
	Counting bool
}

// quota is a Quota in the table. It is immutable.
type quota struct {
	Quota
	// next is the key at which counting continues. While Counting, only keys below it are counted and change the use.
	next  string
	steps uint64 // of counting so far; the Arm of the next step
}

// counts reports whether key, which starts with the prefix, is counted already or by its own command.
func (q *quota) counts(key string) bool { return !q.Counting || key < q.next }

// quotas has the quotas by prefix. A key counts for every quota whose prefix it starts with.
type quotas struct{ byPrefix *btree.Map[string, *quota] }

func newQuotas() quotas { return quotas{byPrefix: btree.NewMap[string, *quota](0)} }

func (q *quotas) copy() quotas { return quotas{byPrefix: q.byPrefix.Copy()} }

// each calls fn with the quotas whose prefix key starts with, the longest prefix first, until fn returns false. It
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
		// A prefix of key that sorts below at.Prefix is not longer than their common prefix.
		from = key[:common(key, at.Prefix)]
	}
}

// common returns the length of the common prefix of a and b.
func common(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// cover reports whether key starts with the prefix of any quota.
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

// growth is the change of the bytes and the number of keys that a command makes at one key.
type growth struct {
	key         string
	bytes, keys int64
}

// grows returns the growth at key when e replaces old. A zero old means that there is no entry, a nil e is a deletion.
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

// charge adds g to the use of every quota for which its key counts.
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

// over returns the quota with the longest prefix that does not allow the growth more, or false if all allow it. less is
// the growth of the same command at another key. A command without growth is always allowed, even above the limit. A
// quota that is still counting knows only a part of its use, so it may allow too much, but never too little.
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

// countBytes bounds the bytes that a step of counting reads, as Limits.CountKeys bounds its keys, so that a step delays
// other commands by a few milliseconds only.
const countBytes = 4 << 20

// timed returns the timer of the next step of counting, due after after, or, if after is 0, the end of that timer.
func (q *quota) timed(after time.Duration) Timed {
	if !q.Counting {
		return Timed{}
	}
	return Timed{Kind: TimedQuota, Name: q.Prefix, Arm: q.steps, After: after}
}

// set carries out OpQuota.
func (q *quotas) set(c *Command, e *entries, limits *Limits, l *ledger) (Result, error) {
	table := q.byPrefix
	old, there := table.Get(c.Key)
	switch {
	case c.Arm != 0 && (!there || !old.Counting || old.steps != c.Arm):
		return l.unchanged(CodeCondition), nil
	case c.Arm != 0:
		return q.countOn(*old, e, limits.CountKeys, l)
	case len(c.Value) == 0:
		if there {
			table.Delete(c.Key)
			l.notes.time(old.timed(0))
		}
		return l.unchanged(CodeDone), nil
	case !there && table.Len() >= limits.Quotas:
		return l.unchanged(CodeFull), nil
	}
	bytes, keys, _ := ParseQuotaLimits(c.Value)
	if there {
		next := *old
		next.Bytes, next.Keys = bytes, keys
		table.Set(next.Prefix, &next)
		return l.unchanged(CodeDone), nil
	}
	return q.countOn(quota{Quota: Quota{Prefix: c.Key, Bytes: bytes, Keys: keys, Counting: true}, next: c.Key}, e,
		limits.CountKeys, l)
}

// reset sets the use of every quota to zero, with nothing left to count. An install calls it before it replaces all
// keys.
func (q *quotas) reset(n *notes) {
	fresh := newQuotas()
	q.byPrefix.Scan(func(prefix string, at *quota) bool {
		n.time(at.timed(0))
		fresh.byPrefix.Set(prefix, &quota{Quota: Quota{Prefix: prefix, Bytes: at.Bytes, Keys: at.Keys}, steps: at.steps})
		return true
	})
	*q = fresh
}

// countOn counts at most limit more of the keys that the quota at covers, and puts it into the table. Later writes
// below at.next are counted by their own commands. All nodes count the same keys in the same step, whether the keys are
// in the memtable or in the state database.
func (q *quotas) countOn(at quota, s *entries, limit int, l *ledger) (Result, error) {
	was := at
	at.steps++
	var keys, bytes int
	var broken error
	whole := true
	err := s.scan(span{lo: at.next, hi: prefixEnd(at.Prefix)}, func(h *hit) bool {
		if keys == limit || bytes >= countBytes {
			at.next, whole = h.name(), false
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
	at.UsedKeys += uint64(keys)
	at.UsedBytes += uint64(bytes)
	if whole {
		l.notes.time(was.timed(0))
		at.Counting, at.next = false, ""
	}
	q.byPrefix.Set(at.Prefix, &at)
	l.notes.time(at.timed(countPause))
	return l.unchanged(CodeDone), nil
}

// refuse returns the refusal of a command with the growth more, if a quota does not allow it.
func (q *quotas) refuse(more, less growth, l *ledger) (Result, bool) {
	o, over := q.over(more, less)
	if !over {
		return Result{}, false
	}
	r := l.unchanged(CodeQuota)
	r.Body = o.encode()
	return r, true
}

// QuotaLimits returns the Value of an OpQuota that sets a quota. 0 means unlimited; at least one limit must be above 0.
func QuotaLimits(bytes, keys uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint([]byte{recordVersion}, bytes), keys)
}

// ParseQuotaLimits returns the limits in the Value of an OpQuota. ok is false if there are none, or not valid ones.
func ParseQuotaLimits(b []byte) (bytes, keys uint64, ok bool) {
	r := reader{b: b}
	r.version()
	bytes, keys = r.uvarint(), r.uvarint()
	return bytes, keys, !r.bad && len(r.b) == 0 && bytes|keys != 0 && max(bytes, keys) <= MaxQuota
}

// MaxQuota is the largest possible limit, in bytes or keys.
const MaxQuota = api.MaxQuota

// Quota returns the quota of a prefix.
func (v *Snapshot) Quota(prefix string) (Quota, bool) {
	if q, there := v.quotas.byPrefix.Get(prefix); there {
		return q.Quota, true
	}
	return Quota{}, false
}

// Quotas returns all quotas, sorted by prefix; there are at most Limits.Quotas.
func (v *Snapshot) Quotas() []Quota { return v.quotas.list() }

// Quotas returns all quotas, sorted by prefix; at most Limits.Quotas. Like Get, it does not change s.
func (s *State) Quotas() []Quota { return s.exec.reg.quotas.list() }

func (q *quotas) list() []Quota {
	all := make([]Quota, 0, q.byPrefix.Len())
	q.byPrefix.Scan(func(_ string, e *quota) bool {
		all = append(all, e.Quota)
		return true
	})
	return all
}
