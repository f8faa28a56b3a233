package named

import (
	"encoding/binary"
	"slices"
)

// index finds records by name: open addressing with linear probing over record numbers, in parts so that growing one
// part takes microseconds. Names are keyed hashes, so their bytes are the hash.
type index struct {
	parts []part
}

type part struct {
	slots []uint32 // record numbers; none is an empty slot
	used  int
}

// leastSlots is the size of a part that holds anything; a power of two.
const leastSlots = 8

// newIndex is for about most names.
func newIndex(most int) index {
	n := 1
	for n < maxParts && n*partNames < most {
		n *= 2
	}
	return index{parts: make([]part, n)}
}

// A part that holds its share of the most names is grown in a fraction of a millisecond, with none of its records in a
// cache.
const (
	partNames = 1024
	maxParts  = 1 << 16
)

func (x *index) clone() index {
	c := index{parts: slices.Clone(x.parts)}
	for i := range c.parts {
		c.parts[i].slots = slices.Clone(c.parts[i].slots)
	}
	return c
}

func hashOf(n Name) (part, slot uint64) {
	return binary.BigEndian.Uint64(n[8:]), binary.BigEndian.Uint64(n[:8])
}

func (x *index) part(n Name) (*part, uint64) {
	p, h := hashOf(n)
	return &x.parts[p&uint64(len(x.parts)-1)], h
}

// find is the number of the record of n, or none.
func (x *index) find(s *slab, n Name) uint32 {
	p, h := x.part(n)
	if len(p.slots) == 0 {
		return none
	}
	mask := uint64(len(p.slots) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		if i := p.slots[at]; i == none || s.at(i).name == n {
			return i
		}
	}
}

// add enters record i, whose name is not there yet.
func (x *index) add(s *slab, i uint32) {
	p, h := x.part(s.at(i).name)
	if (p.used+1)*4 > len(p.slots)*3 {
		p.grow(s)
	}
	p.used++
	p.put(h, i)
}

func (p *part) put(h uint64, i uint32) {
	mask := uint64(len(p.slots) - 1)
	at := h & mask
	for p.slots[at] != none {
		at = (at + 1) & mask
	}
	p.slots[at] = i
}

func (p *part) grow(s *slab) { p.resize(s, max(leastSlots, 2*len(p.slots))) }

func (p *part) resize(s *slab, size int) {
	old := p.slots
	p.slots = make([]uint32, size)
	for at := range p.slots {
		p.slots[at] = none
	}
	for _, i := range old {
		if i != none {
			_, h := hashOf(s.at(i).name)
			p.put(h, i)
		}
	}
}

// remove takes record i out. Later records that probed past its slot move up, so that no gap hides them. A nearly empty
// part shrinks, which gives back the memory that a flood of names took.
func (x *index) remove(s *slab, i uint32) {
	p, h := x.part(s.at(i).name)
	mask := uint64(len(p.slots) - 1)
	gap := h & mask
	for p.slots[gap] != i {
		gap = (gap + 1) & mask
	}
	p.slots[gap] = none
	p.used--
	for at := (gap + 1) & mask; p.slots[at] != none; at = (at + 1) & mask {
		_, home := hashOf(s.at(p.slots[at]).name)
		if (at-home)&mask >= (at-gap)&mask {
			p.slots[gap], p.slots[at] = p.slots[at], none
			gap = at
		}
	}
	if len(p.slots) > leastSlots && p.used*8 < len(p.slots) {
		p.resize(s, len(p.slots)/2)
	}
}
