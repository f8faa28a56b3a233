package kv

import "github.com/tidwall/btree"

// memtable holds changes not yet in the state database, by key; a nil entry is a tombstone. The B-tree has no locks:
// reads never write to it, so any number of goroutines may read while nobody sets or copies.
type memtable = btree.Map[string, *Entry]

// entryBytes is about what an entry or tombstone takes in a memtable besides its key and value: the Entry, its slot in
// a node, and the share of inner nodes.
const entryBytes = 176

func newMemtable() *memtable { return btree.NewMap[string, *Entry](0) }

func sizeOf(key string, e *Entry) int64 {
	n := entryBytes + int64(len(key))
	if e != nil {
		n += int64(len(e.Value))
	}
	return n
}

// cursor walks a memtable through the keys in [lo, hi), hi == "" meaning no end, rising or falling.
type cursor struct {
	iter btree.MapIter[string, *Entry]
	span span
	ok   bool
}

// span is the keys in [lo, hi); hi == "" means no end.
type span struct {
	lo, hi  string
	falling bool
}

func (s span) below(key string) bool { return s.hi == "" || key < s.hi }

func (s span) empty() bool { return s.hi != "" && s.lo >= s.hi }

func newCursor(t *memtable, s span) cursor {
	if t == nil {
		return cursor{}
	}
	c := cursor{iter: t.Iter(), span: s}
	switch {
	case !s.falling:
		c.ok = c.iter.Seek(s.lo)
	case s.hi == "" || !c.iter.Seek(s.hi):
		c.ok = c.iter.Last()
	default:
		c.ok = c.iter.Prev()
	}
	c.check()
	return c
}

func (c *cursor) next() {
	if c.span.falling {
		c.ok = c.iter.Prev()
	} else {
		c.ok = c.iter.Next()
	}
	c.check()
}

func (c *cursor) check() {
	if !c.ok {
		return
	}
	if c.span.falling {
		c.ok = c.iter.Key() >= c.span.lo
	} else {
		c.ok = c.span.below(c.iter.Key())
	}
}
