package replica

import (
	"math/bits"
	"time"
)

// compareSlots chooses the slots at which a node makes a checkpoint for the sake of its digest. Digests can be compared
// only if they are of the same slot, so the choice must come out alike on nodes that do not talk about it:
//
//   - While slots are applied it is every multiple of a power of two. Each node takes the power of two that is reached
//     about every CompareEvery at the rate of the last such time; where two nodes take different ones, the multiples of
//     the larger are among those of the smaller.
//   - When nothing was applied for CompareEvery, it is the last slot: that is the same for all who have it.
//
// A node that is in the middle of another checkpoint, or short of space, leaves one out.
type compareSlots struct {
	every   uint64 // ticks
	spacing uint64 // a power of two; 0: the rate is not known yet
	from    uint64 // what was applied when the rate began to be measured
	ticks   uint64 // since then
	applied uint64 // at the newest tick
	quiet   uint64 // ticks since that has moved
	newest  uint64 // tick of the newest one that was chosen while slots were applied
}

// leastSpacing is the least distance of two slots: with fewer slots in CompareEvery, it takes that many.
const leastSpacing = 16

func newCompareSlots(every time.Duration, applied uint64) compareSlots {
	return compareSlots{every: uint64(max(1, every/TickEvery)), from: applied, applied: applied}
}

// tick passes time; so much is applied.
func (c *compareSlots) tick(applied uint64) {
	c.ticks++
	if c.quiet++; applied != c.applied {
		c.applied, c.quiet = applied, 0
	}
	if c.ticks < c.every {
		return
	}
	slots := applied - c.from
	c.spacing = leastSpacing
	if slots > leastSpacing {
		c.spacing = 1 << bits.Len64(slots-1)
	}
	c.from, c.ticks = applied, 0
}

// takes reports whether to make a checkpoint of the state as it is after slot, which was just applied. A node that
// catches up passes many such slots in a short time, and takes few of them.
func (c *compareSlots) takes(slot, tick uint64) bool {
	if c.spacing == 0 || slot%c.spacing != 0 || c.newest > 0 && tick-c.newest < c.every/2 {
		return false
	}
	c.newest = tick
	return true
}

// rests reports whether nothing was applied for so long that the last slot is taken.
func (c *compareSlots) rests() bool { return c.quiet >= c.every }
