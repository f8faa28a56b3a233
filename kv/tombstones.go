package kv

import (
	"strings"

	"github.com/tidwall/btree"
)

// tombstones remembers deletions, so that the index of a listing counts them. A key has one tombstone, with the
// revision of its last deletion; it stays when the key is written again, for then the key's ModifyIndex is higher, and
// an index that takes both does not move. Beyond the limit the oldest are compacted into the floor, a whole revision at
// a time, so that the order within a revision does not matter.
type tombstones struct {
	byKey *btree.Map[string, uint64]
	byAge *btree.BTreeG[tombstone]
	floor uint64 // highest revision that was compacted
}

type tombstone struct {
	revision uint64
	key      string
}

func newTombstones() tombstones {
	older := func(a, b tombstone) bool {
		return a.revision < b.revision || a.revision == b.revision && a.key < b.key
	}
	return tombstones{byKey: btree.NewMap[string, uint64](0),
		byAge: btree.NewBTreeGOptions(older, btree.Options{NoLocks: true})}
}

func (t *tombstones) copy() tombstones {
	return tombstones{byKey: t.byKey.Copy(), byAge: t.byAge.Copy(), floor: t.floor}
}

// add remembers that key was deleted at revision, the newest there is.
func (t *tombstones) add(key string, revision uint64, limit int) {
	if revision <= t.floor {
		return // so many were deleted at once that they are compacted already
	}
	if old, again := t.byKey.Set(key, revision); again {
		t.byAge.Delete(tombstone{old, key})
	}
	t.byAge.Set(tombstone{revision, key})
	if t.byKey.Len() > limit {
		t.compact()
	}
}

// compact forgets the tombstones of the oldest revision.
func (t *tombstones) compact() {
	oldest, ok := t.byAge.Min()
	for t.floor = oldest.revision; ok && oldest.revision == t.floor; oldest, ok = t.byAge.Min() {
		t.byAge.PopMin()
		t.byKey.Delete(oldest.key)
	}
}

// newest returns the highest revision at which a key that starts with prefix was deleted, at least the floor. It
// searches by age and by key in turns: of few keys it has soon seen all, and of many a young one comes soon.
func (t *tombstones) newest(prefix string) uint64 {
	best := t.floor
	keys, ages := t.byKey.Iter(), t.byAge.Iter()
	defer ages.Release()
	for more := keys.Seek(prefix) && ages.Last(); more; more = keys.Next() && ages.Prev() {
		if !strings.HasPrefix(keys.Key(), prefix) {
			return best
		}
		if young := ages.Item(); strings.HasPrefix(young.key, prefix) {
			return young.revision
		}
		best = max(best, keys.Value())
	}
	return best
}

// of returns the revision of key's last deletion, at least the floor.
func (t *tombstones) of(key string) uint64 {
	revision, _ := t.byKey.Get(key)
	return max(revision, t.floor)
}

// Deleted returns the highest revision at which a key that starts with prefix was deleted. Deletions so old that they
// are not remembered one by one count for every prefix. 0: there was none.
func (v *Snapshot) Deleted(prefix string) uint64 { return v.tombstones.newest(prefix) }

// Compacted returns the revision up to which deletions are not remembered one by one. A restore moves it to the first
// revision of the new cluster (State.Jump), because a lower index may be from a history that was lost.
func (v *Snapshot) Compacted() uint64 { return v.tombstones.floor }
