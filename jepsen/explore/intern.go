package explore

import "sync"

const (
	roomBits = 12
	maxRooms = 1 << 14
	// maxParts bounds each kind of part, so that a number of one fits its place in a memo's key.
	maxParts = 1 << 26
)

// interned numbers the distinct parts of a kind (proposers, acceptors, sets of messages …) from 1. Parts are added
// under model.mu. They never move or change, and a number reaches another goroutine only through that lock or
// through a barrier of the search, so reading one needs no lock.
type interned[T any] struct {
	ids   map[string]uint32
	rooms [maxRooms]*[1 << roomBits]T
	n     uint32
}

func (t *interned[T]) get(id uint32) *T { return &t.rooms[id>>roomBits][id&(1<<roomBits-1)] }

// find is the number of the part with this encoding, 0 if it is new.
func (t *interned[T]) find(key []byte) uint32 { return t.ids[string(key)] }

func (t *interned[T]) add(key []byte, v T) uint32 {
	if t.ids == nil {
		t.ids = map[string]uint32{}
	}
	t.n++
	if t.n >= maxParts {
		panic("explore: more different parts than their numbers can tell apart")
	}
	if t.rooms[t.n>>roomBits] == nil {
		t.rooms[t.n>>roomBits] = new([1 << roomBits]T)
	}
	*t.get(t.n) = v
	t.ids[string(key)] = t.n
	return t.n
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

// recall is what compute(k) once gave: found in the cache, in the memo, or computed now, under the memo's lock.
func (c *cache) recall(m *memo, k uint64, compute func(k uint64) uint64) uint64 {
	s := c.slot(k)
	if s.key == k {
		return s.value
	}
	m.mu.Lock()
	v, ok := m.done[k]
	if !ok {
		v = compute(k)
		m.done[k] = v
	}
	m.mu.Unlock()
	s.key, s.value = k, v
	return v
}

func operands(k uint64) (op, a, b uint32) {
	return uint32(k >> 56), uint32(k >> 28 & (1<<28 - 1)), uint32(k & (1<<28 - 1))
}
