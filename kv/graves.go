package kv

import (
	"strings"

	"github.com/tidwall/btree"
)

// graves remembers deletions, so that the index of a listing counts them. A key has one tombstone, with the revision of
// its last deletion; it stays when the key is written again, for then the key's ModifyIndex is higher, and an index that
// takes both does not move. Beyond the limit the oldest are compacted into the floor, a whole revision at a time, so that
// what is kept does not depend on the order within one.
type graves struct {
	byKey *btree.Map[string, uint64]
	byAge *btree.BTreeG[grave]
	floor uint64 // highest revision that was compacted
}

type grave struct {
	revision uint64
	key      string
}

func newGraves() graves {
	older := func(a, b grave) bool {
		return a.revision < b.revision || a.revision == b.revision && a.key < b.key
	}
	return graves{byKey: btree.NewMap[string, uint64](0), byAge: btree.NewBTreeGOptions(older, btree.Options{NoLocks: true})}
}

func (g *graves) copy() graves {
	return graves{byKey: g.byKey.Copy(), byAge: g.byAge.Copy(), floor: g.floor}
}

// bury remembers that key was deleted at revision, the newest there is.
func (g *graves) bury(key string, revision uint64, limit int) {
	if revision <= g.floor {
		return // so many were deleted at once that they are compacted already
	}
	if old, again := g.byKey.Set(key, revision); again {
		g.byAge.Delete(grave{old, key})
	}
	g.byAge.Set(grave{revision, key})
	if g.byKey.Len() > limit {
		g.compact()
	}
}

// compact forgets the tombstones of the oldest revision.
func (g *graves) compact() {
	oldest, ok := g.byAge.Min()
	for g.floor = oldest.revision; ok && oldest.revision == g.floor; oldest, ok = g.byAge.Min() {
		g.byAge.PopMin()
		g.byKey.Delete(oldest.key)
	}
}

// newest is the highest revision at which a key that starts with prefix was deleted, at least the floor. It searches by
// age and by key in turns: of few keys it has soon seen all, and of many a young one comes soon.
func (g *graves) newest(prefix string) uint64 {
	best := g.floor
	keys, ages := g.byKey.Iter(), g.byAge.Iter()
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
