package explore

import (
	"encoding/binary"
	"slices"
	"sync"
)

const (
	pageBits = 12
	maxPages = 1 << 14
	// maxParts bounds each kind of part, so that a number of one fits its place in a memo's key.
	maxParts = 1 << 26
)

// interned numbers the distinct parts of a kind (proposers, acceptors, messages …) from 1. Parts are added under
// memo.mu. They never move or change, and a number reaches another goroutine only through that lock or through a
// barrier of the search, so reading one needs no lock.
type interned[T any] struct {
	ids     map[string]uint32
	pages   [maxPages]*[1 << pageBits]entry[T]
	n       uint32
	scratch []byte
}

type entry[T any] struct {
	part T
	sum  digest
}

func (t *interned[T]) at(id uint32) *entry[T] { return &t.pages[id>>pageBits][id&(1<<pageBits-1)] }

func (t *interned[T]) get(id uint32) *T { return &t.at(id).part }

// sum returns the fingerprint of a part.
func (t *interned[T]) sum(id uint32) digest { return t.at(id).sum }

// buffer returns memory for the next encoding. It is used again as soon as that is numbered.
func (t *interned[T]) buffer() []byte { return t.scratch[:0] }

// number returns the number of the part with this encoding; if there is none yet, it becomes part.
func (t *interned[T]) number(key []byte, part T) uint32 {
	t.scratch = key
	if id := t.ids[string(key)]; id != 0 {
		return id
	}
	return t.add(key, part, digestOf(key))
}

func (t *interned[T]) add(key []byte, part T, sum digest) uint32 {
	if t.ids == nil {
		t.ids = map[string]uint32{}
	}
	t.n++
	if t.n >= maxParts {
		panic("explore: more different parts than their numbers can tell apart")
	}
	if t.pages[t.n>>pageBits] == nil {
		t.pages[t.n>>pageBits] = new([1 << pageBits]entry[T])
	}
	*t.at(t.n) = entry[T]{part, sum}
	t.ids[string(key)] = t.n
	return t.n
}

// messageSets numbers sets of messages. The fingerprint of one is the sum of its messages'.
type messageSets struct {
	interned[[]uint32]
	message func(id uint32) digest
	// order compares messages by their contents, so that results do not depend on which was met first.
	order func(a, b uint32) int
}

// of returns the number of the set of these messages. It sorts ids and keeps them if the set is new.
func (t *messageSets) of(ids []uint32) uint32 {
	slices.SortFunc(ids, t.order)
	ids = slices.Compact(ids)
	key := t.buffer()
	for _, id := range ids {
		key = binary.LittleEndian.AppendUint32(key, id)
	}
	t.scratch = key
	if id := t.ids[string(key)]; id != 0 {
		return id
	}
	var sum digest
	for _, id := range ids {
		sum = sum.plus(t.message(id))
	}
	return t.add(key, ids, sum)
}

func (t *messageSets) list(set uint32) []uint32 { return *t.get(set) }

func (t *messageSets) union(a, b uint32) uint32 { return t.of(slices.Concat(t.list(a), t.list(b))) }

func (t *messageSets) with(set, id uint32) uint32 { return t.of(append(slices.Clone(t.list(set)), id)) }

func (t *messageSets) without(set, id uint32) uint32 {
	return t.of(slices.DeleteFunc(slices.Clone(t.list(set)), func(i uint32) bool { return i == id }))
}

// memo remembers what the real code did: a part and an input always give the same part and output.
type memo struct {
	mu   sync.Mutex // also guards all interned parts
	done map[uint64]uint64
}

const cacheSize = 1 << 16

// cache is one goroutine's window on a memo.
type cache struct {
	slots [cacheSize]struct{ key, value uint64 }
}

// key packs an operation (not 0) and its two operands.
func key(op, a, b uint32) uint64 { return uint64(op)<<56 | uint64(a)<<28 | uint64(b) }

func (c *cache) slot(k uint64) *struct{ key, value uint64 } {
	return &c.slots[(k*0x9e3779b97f4a7c15)>>48&(cacheSize-1)]
}
