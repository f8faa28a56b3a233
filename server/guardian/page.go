package guardian

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"tenure/lease"
)

// The page:
//
//	offset  bytes   content
//	0       8       magic, with the version of this layout
//	8       64 × 8  the counters of the noted ballots, in no order; 0 is free
//	520     2       length of the plan, big endian
//	522             the plan, msgpack
//
// All but the counters is written before the guardian starts. A counter is one aligned word, stored at once: however
// suddenly the writer dies, the reader finds in each place what was stored there last, never a mixture of two. What a
// death in the middle of an update leaves is some of the new set and some of the old, all of them ballots of this
// incarnation that left or were about to. Were it garbage, it would still do no harm: a Release that matches no record
// changes nothing (A3).
const (
	pageBytes = 8192
	pageMagic = "TNGUARD1"
	atSlots   = 8
	atLength  = atSlots + 8*lease.MaxNotes
	atPlan    = atLength + 2
	planBytes = pageBytes - atPlan
)

// page is the shared memory. One process writes it, from one goroutine; the other reads.
type page struct{ b []byte }

// slot is a counter's word. The page is aligned to more than that.
func (p page) slot(i int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&p.b[atSlots+8*i])) }

// begin writes all that does not change.
func (p page) begin(plan *Plan) error {
	b, err := plan.encode()
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint16(p.b[atLength:], uint16(len(b)))
	copy(p.b[atPlan:], b)
	copy(p.b, pageMagic)
	return nil
}

// plan reads what begin wrote.
func (p page) plan() (Plan, error) {
	if len(p.b) != pageBytes || string(p.b[:len(pageMagic)]) != pageMagic {
		return Plan{}, fmt.Errorf("%w: it does not begin as one", ErrPlan)
	}
	n := int(binary.BigEndian.Uint16(p.b[atLength:]))
	if n > planBytes {
		return Plan{}, fmt.Errorf("%w: a plan of %d bytes", ErrPlan, n)
	}
	return decodePlan(p.b[atPlan : atPlan+n])
}

// note makes counters, at most lease.MaxNotes of them and none 0, the noted ones: what is new is there before anything
// goes.
func (p page) note(counters []uint64) {
	p.update(counters, func(i int, c uint64) { p.slot(i).Store(c) })
}

// update makes the stores of note, in their order.
func (p page) update(counters []uint64, store func(i int, c uint64)) {
	var kept [lease.MaxNotes]bool
	var fresh []uint64
	for _, c := range counters {
		if i := p.find(c); i >= 0 {
			kept[i] = true
		} else {
			fresh = append(fresh, c)
		}
	}
	for _, free := range [...]bool{true, false} { // free places first: what is given up stays as long as it can
		for i := range kept {
			if len(fresh) > 0 && !kept[i] && (p.slot(i).Load() == 0) == free {
				store(i, fresh[0])
				fresh, kept[i] = fresh[1:], true
			}
		}
	}
	for i := range kept {
		if !kept[i] && p.slot(i).Load() != 0 {
			store(i, 0)
		}
	}
}

func (p page) find(c uint64) int {
	for i := range lease.MaxNotes {
		if p.slot(i).Load() == c {
			return i
		}
	}
	return -1
}

// counters are the noted ones, rising.
func (p page) counters() []uint64 {
	var out []uint64
	for i := range lease.MaxNotes {
		if c := p.slot(i).Load(); c != 0 {
			out = append(out, c)
		}
	}
	slices.Sort(out)
	return out
}
