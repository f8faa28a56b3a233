package named

import (
	"maps"
	"slices"
	"strings"

	"tenure/internal/ballot"
)

// runID stands for an incarnation in records. 0 is none.
type runID uint16

// maxRuns bounds the incarnations that records name at a time. Incarnations that no record names any more make space.
const maxRuns = 1 << 15

// runs keeps the incarnations of ballots once each.
type runs struct {
	list []run // by runID - 1
	last runID // the one asked for last
}

type run struct {
	is   ballot.Incarnation
	refs int
}

func (r *runs) clone() runs { return runs{list: slices.Clone(r.list), last: r.last} }

func (r *runs) at(id runID) ballot.Incarnation {
	if id == 0 {
		return ballot.Incarnation{}
	}
	return r.list[id-1].is
}

// id is the number of an incarnation; 0 if maxRuns others are spoken of.
func (r *runs) id(i ballot.Incarnation) runID {
	if r.last != 0 && r.list[r.last-1].is == i {
		return r.last
	}
	free := -1
	for n := range r.list {
		if r.list[n].is == i {
			r.last = runID(n + 1)
			return r.last
		}
		if free < 0 && r.list[n].refs == 0 {
			free = n
		}
	}
	if free < 0 {
		if len(r.list) == maxRuns {
			return 0
		}
		r.list = append(r.list, run{})
		free = len(r.list) - 1
	}
	r.list[free] = run{is: i}
	r.last = runID(free + 1)
	return r.last
}

// swap makes *at speak of id.
func (r *runs) swap(at *runID, id runID) {
	if id != 0 {
		r.list[id-1].refs++
	}
	if *at != 0 {
		r.list[*at-1].refs--
	}
	*at = id
}

// owners keeps the texts of owners once each. Number 0 is the empty text.
type owners struct {
	numbers map[string]uint32
	list    pages[owner] // by number - 1
	free    uint32       // the number of a free entry, 0 if there is none
}

type owner struct {
	text string
	refs uint32 // records that speak of it
	next uint32 // of a free entry: the number of another one
}

func (o *owners) clone() owners {
	return owners{numbers: maps.Clone(o.numbers), list: o.list.clone(), free: o.free}
}

func (o *owners) text(n uint32) string {
	if n &^= freshBit; n != 0 {
		return o.list.at(n - 1).text
	}
	return ""
}

// keep is the number of a text, with one more record that speaks of it.
func (o *owners) keep(text string) uint32 {
	if text == "" {
		return 0
	}
	if n, ok := o.numbers[text]; ok {
		o.list.at(n-1).refs++
		return n
	}
	n := o.free
	if n == 0 {
		n = o.list.add() + 1
	} else {
		o.free = o.list.at(n - 1).next
	}
	text = strings.Clone(text) // it may be part of a message
	*o.list.at(n - 1) = owner{text: text, refs: 1}
	if o.numbers == nil {
		o.numbers = map[string]uint32{}
	}
	o.numbers[text] = n
	return n
}

// release is the end of one record's speaking of number n.
func (o *owners) release(n uint32) {
	if n &^= freshBit; n == 0 {
		return
	}
	w := o.list.at(n - 1)
	if w.refs--; w.refs == 0 {
		delete(o.numbers, w.text)
		*w = owner{next: o.free}
		o.free = n
	}
}
