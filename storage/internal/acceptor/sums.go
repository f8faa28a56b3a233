package acceptor

import (
	"encoding/binary"
	"fmt"
	"maps"

	"tenure/multipaxos"
	"tenure/storage/internal/sealed"
)

// slotSums holds the checksum of each entry of log.db in memory, four bytes per entry. log.db is read through bbolt's
// memory map while the store is open. A vote may depend on the answer that there is no entry. A flipped bit in an
// element count, an old page or the older of the two meta pages would hide entries, or show old ones with right
// checksums. A slotSums is immutable, so a view of log.db keeps the one that belongs to it.
type slotSums struct{ blocks map[multipaxos.Slot]*sumBlock }

// sumBlock has the checksums of sumBlockSlots consecutive slots; 0 means no entry.
type sumBlock [sumBlockSlots]uint32

const sumBlockSlots = 1024

// recordSum returns the checksum at the end of a sealed record; never 0.
func recordSum(record []byte) uint32 {
	return max(1, binary.BigEndian.Uint32(record[len(record)-sealed.SumBytes:]))
}

// get returns the checksum of the entry in a slot, 0 if there is none.
func (s *slotSums) get(slot multipaxos.Slot) uint32 {
	if s == nil || s.blocks[slot/sumBlockSlots] == nil {
		return 0
	}
	return s.blocks[slot/sumBlockSlots][slot%sumBlockSlots]
}

// check compares the record that log.db has for a slot, nil if it has none, with the one that was written.
func (s *slotSums) check(slot multipaxos.Slot, record []byte) error {
	want := s.get(slot)
	switch {
	case record == nil && want != 0:
		return fmt.Errorf("the entry of slot %d is missing", slot)
	case record != nil && want != recordSum(record):
		return fmt.Errorf("the entry of slot %d is not the one that was written last", slot)
	}
	return nil
}

// next returns the lowest slot in [from, through] that has an entry.
func (s *slotSums) next(from, through multipaxos.Slot) (slot multipaxos.Slot, ok bool) {
	if s == nil {
		return 0, false
	}
	for left := len(s.blocks); left > 0 && from <= through; {
		block := s.blocks[from/sumBlockSlots]
		if block == nil {
			if from, ok = s.nextBlock(from / sumBlockSlots); !ok {
				return 0, false
			}
			continue
		}
		for i := from % sumBlockSlots; i < sumBlockSlots; i++ {
			if block[i] != 0 {
				slot = from - from%sumBlockSlots + i
				return slot, slot <= through
			}
		}
		if from = from - from%sumBlockSlots + sumBlockSlots; from == 0 { // after the highest slot
			break
		}
		left--
	}
	return 0, false
}

// nextBlock returns the first slot of the lowest block above block number above.
func (s *slotSums) nextBlock(above multipaxos.Slot) (from multipaxos.Slot, ok bool) {
	for n := range s.blocks { // one per 1,024 slots, and only searched at gaps
		if n > above && (!ok || n*sumBlockSlots < from) {
			from, ok = n*sumBlockSlots, true
		}
	}
	return from, ok
}

// sumsEditor builds the slotSums of the next transaction. It copies the blocks that it changes.
type sumsEditor struct {
	slotSums
	own map[multipaxos.Slot]bool
}

func (s *slotSums) edit() *sumsEditor {
	e := &sumsEditor{own: map[multipaxos.Slot]bool{}, slotSums: slotSums{blocks: map[multipaxos.Slot]*sumBlock{}}}
	if s != nil {
		maps.Copy(e.blocks, s.blocks)
	}
	return e
}

// set records the checksum of a slot's record, or, if record is nil, that it was deleted.
func (e *sumsEditor) set(slot multipaxos.Slot, record []byte) {
	n := slot / sumBlockSlots
	if !e.own[n] {
		block := new(sumBlock)
		if old := e.blocks[n]; old != nil {
			*block = *old
		}
		e.blocks[n], e.own[n] = block, true
	}
	sum := uint32(0)
	if record != nil {
		sum = recordSum(record)
	}
	e.blocks[n][slot%sumBlockSlots] = sum
}

// done returns the result without empty blocks. The editor must not be used afterwards.
func (e *sumsEditor) done() *slotSums {
	for n := range e.own {
		if *e.blocks[n] == (sumBlock{}) {
			delete(e.blocks, n)
		}
	}
	return &e.slotSums
}
