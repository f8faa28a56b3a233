package named

import "slices"

// pages is a list that grows by pages and is never copied as a whole, so growing takes microseconds whatever its
// length.
type pages[T any] struct {
	list [][]T
	n    uint32
}

// pageLen makes a page of records exactly as large as the piece of memory that Go gives for it: eleven of its pages.
const pageLen = 1024

// at is entry i. It is valid until the next add.
func (p *pages[T]) at(i uint32) *T { return &p.list[i/pageLen][i%pageLen] }

// add is the number of one more entry, which is zero.
func (p *pages[T]) add() uint32 {
	if p.n%pageLen == 0 {
		p.list = append(p.list, make([]T, 0, pageLen))
	}
	last := &p.list[len(p.list)-1]
	*last = append(*last, *new(T))
	p.n++
	return p.n - 1
}

// clone is an independent copy, if entries hold no pointers to what changes.
func (p *pages[T]) clone() pages[T] {
	c := pages[T]{list: make([][]T, len(p.list)), n: p.n}
	for i := range p.list {
		c.list[i] = slices.Clone(p.list[i])
	}
	return c
}
