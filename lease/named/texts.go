package named

// texts keeps the names of records as people write them, in cells without pointers: a million of them cost the garbage
// collector nothing. Number 0 is the empty text.
type texts struct {
	cells pages[cell]
	free  uint32 // number of the first free cell, or 0
}

// cell is a piece of a text. Its number is its place plus 1.
type cell struct {
	next  uint32 // number of the cell with the rest, or of the next free one; 0: there is none
	used  uint8
	bytes [cellBytes]byte
}

// cellBytes makes a cell 32 bytes long; most names fit in one.
const cellBytes = 27

func (x *texts) clone() texts { return texts{cells: x.cells.clone(), free: x.free} }

// keep returns the number of a copy of a text.
func (x *texts) keep(text string) uint32 {
	first, last := uint32(0), uint32(0)
	for len(text) > 0 {
		n := x.alloc()
		c := x.cells.at(n - 1)
		*c = cell{used: uint8(min(len(text), cellBytes))}
		copy(c.bytes[:], text)
		text = text[c.used:]
		if first == 0 {
			first = n
		} else {
			x.cells.at(last - 1).next = n
		}
		last = n
	}
	return first
}

func (x *texts) alloc() uint32 {
	if n := x.free; n != 0 {
		x.free = x.cells.at(n - 1).next
		return n
	}
	return x.cells.add() + 1
}

// text returns text number n.
func (x *texts) text(n uint32) string {
	var space [MaxTextBytes]byte
	b := space[:0]
	for n != 0 {
		c := x.cells.at(n - 1)
		b = append(b, c.bytes[:c.used]...)
		n = c.next
	}
	return string(b)
}

// release forgets text number n.
func (x *texts) release(n uint32) {
	for n != 0 {
		c := x.cells.at(n - 1)
		next := c.next
		*c = cell{next: x.free}
		x.free = n
		n = next
	}
}
