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
//	520     8       which of the two plans holds: 0 or 1
//	528     2       length of plan 0, big endian
//	530             plan 0, msgpack
//	8456            plan 1, likewise
//
// A new plan is written over the plan that does not hold, and one store then makes it hold. A counter is one aligned
// word, also written by one store. However suddenly the writer dies, the reader finds in each place the last stored
// word, never a mixture of two. A death in the middle of an update leaves some counters of the new set and some of the
// old. All of them are ballots of this incarnation that left or were about to leave. Even garbage would do no harm: a
// Release that matches no record changes nothing (A3).
const (
	pageBytes = 16384
	pageMagic = "TNGUARD3"
	atSlots   = 8
	atHolds   = atSlots + 8*lease.MaxNotes
	atPlans   = atHolds + 8
	planSpace = (pageBytes - atPlans) / 2
	planBytes = planSpace - 2
)

// page is the shared memory. One process writes it, from one goroutine; the other reads.
type page struct{ b []byte }

// slot is a counter's word. The page is aligned to more than that.
func (p page) slot(i int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&p.b[atSlots+8*i])) }

// begin writes the first plan.
func (p page) begin(plan *Plan) error {
	if err := p.follow(plan); err != nil {
		return err
	}
	copy(p.b, pageMagic)
	return nil
}

// follow makes plan the one that holds.
func (p page) follow(plan *Plan) error {
	b, err := plan.encode()
	if err != nil {
		return err
	}
	next := 1 - p.holds().Load()&1
	to := p.b[p.at(next):]
	binary.BigEndian.PutUint16(to, uint16(len(b)))
	copy(to[2:], b)
	p.holds().Store(next)
	return nil
}

func (p page) holds() *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Pointer(&p.b[atHolds])) }

// at is where plan i begins.
func (p page) at(i uint64) int { return atPlans + int(i&1)*planSpace }

// plan reads the plan that holds.
func (p page) plan() (Plan, error) {
	if len(p.b) != pageBytes || string(p.b[:len(pageMagic)]) != pageMagic {
		return Plan{}, fmt.Errorf("%w: it does not begin as one", ErrPlan)
	}
	from := p.b[p.at(p.holds().Load()):]
	n := int(binary.BigEndian.Uint16(from))
	if n > planBytes {
		return Plan{}, fmt.Errorf("%w: a plan of %d bytes", ErrPlan, n)
	}
	return decodePlan(from[2 : 2+n])
}

// note makes counters, at most lease.MaxNotes of them and none 0, the noted ones. It stores new ones before it deletes
// any.
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
