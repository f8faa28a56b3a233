package replica

import (
	"math/bits"
	"time"
)

// compareSlots chooses the slots at which a node makes a checkpoint in order to compare its digest with those of other
// nodes. Only digests of the same slot can be compared, so all nodes must choose the same slots without communicating:
//
//   - While slots are applied it is every multiple of a power of two. Each node takes the power of two that is reached
//     about every CompareEvery at the rate of the last such time; where two nodes take different ones, the multiples of
//     the larger are among those of the smaller.
//   - When nothing was applied for CompareEvery, it is the last slot, which is the same on all nodes.
//
// A node skips a slot while space is short. If another checkpoint runs, the node makes that of the slot afterwards. If
// several slots pass meanwhile, it takes the roundest.
type compareSlots struct {
	every   uint64 // CompareEvery in ticks
	spacing uint64 // distance of chosen slots, a power of two; 0 while the rate is unknown
	from    uint64 // newest applied slot when the measurement of the rate began
	ticks   uint64 // ticks since then
	applied uint64 // newest applied slot at the newest tick
	quiet   uint64 // ticks since applied last changed
	newest  uint64 // tick at which takes last returned true
}

// leastSpacing is the minimum spacing. If fewer slots than that are applied in CompareEvery, the comparisons are
// farther apart in time.
const leastSpacing = 16

func newCompareSlots(every time.Duration, applied uint64) compareSlots {
	return compareSlots{every: uint64(max(1, every/TickEvery)), from: applied, applied: applied}
}

// tick advances the time by one tick; applied is the newest applied slot.
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

// takes reports whether to make a checkpoint of the state after slot, which was just applied. A node that catches up
// passes many chosen slots in a short time and takes few of them.
func (c *compareSlots) takes(slot, tick uint64) bool {
	if c.spacing == 0 || slot%c.spacing != 0 || c.newest > 0 && tick-c.newest < c.every/2 {
		return false
	}
	c.newest = tick
	return true
}

// rounder reports whether slot a is a multiple of a larger power of two than slot b. A busy node takes only the
// roundest of the slots that pass meanwhile. So nodes that are busy at different times, for longer than CompareEvery,
// have a slot in common: the roundest of the time in which both are busy.
func rounder(a, b uint64) bool { return bits.TrailingZeros64(a) > bits.TrailingZeros64(b) }

// rests reports whether no slot was applied for CompareEvery, so that the last one is chosen.
func (c *compareSlots) rests() bool { return c.quiet >= c.every }
