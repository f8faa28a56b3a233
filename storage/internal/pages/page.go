package pages

import (
	"bytes"
	"errors"
	"fmt"
)

// page is one page with its overflow, or the leaf inside a small bucket's header.
type page struct {
	id    uint64
	data  []byte
	more  uint64 // pages of overflow
	parts *parts // says which pages of data were read; nil: all of them
}

func (p page) flags() uint16 { return order.Uint16(p.data[8:]) }
func (p page) count() int    { return int(order.Uint16(p.data[10:])) }

var errOutside = errors.New("points outside of the page")

// cut returns n bytes of the page from position pos of the element at off.
func (p page) cut(i, off int, pos, n uint32) ([]byte, error) {
	from := uint64(off) + uint64(pos)
	to := from + uint64(n)
	if to > uint64(len(p.data)) {
		return nil, fmt.Errorf("page %d, element %d %w", p.id, i, errOutside)
	}
	return p.data[from:to:to], p.ensure(from, to)
}

// element returns where element i starts.
func (p page) element(i int) (int, error) {
	off := pageHeaderBytes + i*elementBytes
	if off+elementBytes > len(p.data) {
		return 0, fmt.Errorf("page %d, element %d %w", p.id, i, errOutside)
	}
	return off, p.ensure(uint64(off), uint64(off+elementBytes))
}

func (p page) branchElement(i int) (key []byte, child uint64, err error) {
	off, err := p.element(i)
	if err != nil {
		return nil, 0, err
	}
	e := p.data[off:]
	key, err = p.cut(i, off, order.Uint32(e), order.Uint32(e[4:]))
	return key, order.Uint64(e[8:]), err
}

// leafKey returns the key of an element of a leaf, and reads nothing of its value.
func (p page) leafKey(i int) ([]byte, error) {
	off, err := p.element(i)
	if err != nil {
		return nil, err
	}
	return p.cut(i, off, order.Uint32(p.data[off+4:]), order.Uint32(p.data[off+8:]))
}

func (p page) leafElement(i int) (flags uint32, key, value []byte, err error) {
	off, err := p.element(i)
	if err != nil {
		return 0, nil, nil, err
	}
	e := p.data[off:]
	pos, keyBytes := order.Uint32(e[4:]), order.Uint32(e[8:])
	if key, err = p.cut(i, off, pos, keyBytes); err != nil {
		return 0, nil, nil, err
	}
	if pos+keyBytes < pos {
		return 0, nil, nil, fmt.Errorf("page %d, element %d %w", p.id, i, errOutside)
	}
	value, err = p.cut(i, off, pos+keyBytes, order.Uint32(e[12:]))
	return order.Uint32(e), key, value, err
}

// rising checks the key of element i against the one before it, or the lower bound, and the upper bound.
func rising(id uint64, i int, before, key, high []byte) error {
	c := 1
	if before != nil {
		c = bytes.Compare(key, before)
	}
	if c < 0 || (c == 0 && i > 0) || (high != nil && bytes.Compare(key, high) >= 0) {
		return fmt.Errorf("page %d, element %d is out of order", id, i)
	}
	return nil
}
