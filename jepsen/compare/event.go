package compare

import "time"

// event is something that happens at a point of true time. Events of one time happen in the order in which they were
// made.
type event struct {
	at     time.Duration
	serial uint64
	kind   kind
	node   int // index; -1: of the world
	runs   int // of the node: what was for an earlier run is void
	letter letter
	fault  fault
}

type kind uint8

const (
	kindLetter kind = iota
	kindWake
	kindFault
	kindBoot
	kindResume
	kindThaw
)

// agenda is a heap of events, the next one first. The heap moves their times only; they themselves stay where they are.
type agenda struct {
	heap  []due
	slots []event
	free  []int32
}

type due struct {
	at     time.Duration
	serial uint64
	slot   int32
}

func (a *agenda) before(i, j int) bool {
	h := a.heap
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].serial < h[j].serial
}

func (a *agenda) push(e event) {
	slot := int32(len(a.slots))
	if n := len(a.free); n > 0 {
		slot, a.free = a.free[n-1], a.free[:n-1]
		a.slots[slot] = e
	} else {
		a.slots = append(a.slots, e)
	}
	a.heap = append(a.heap, due{e.at, e.serial, slot})
	for i := len(a.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !a.before(i, up) {
			break
		}
		a.heap[i], a.heap[up] = a.heap[up], a.heap[i]
		i = up
	}
}

// next is the time of the next event; not ok if there is none.
func (a *agenda) next() (time.Duration, bool) {
	if len(a.heap) == 0 {
		return 0, false
	}
	return a.heap[0].at, true
}

func (a *agenda) pop() event {
	slot, last := a.heap[0].slot, len(a.heap)-1
	a.heap[0] = a.heap[last]
	a.heap = a.heap[:last]
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < last && a.before(down, least) {
				least = down
			}
		}
		if least == i {
			break
		}
		a.heap[i], a.heap[least] = a.heap[least], a.heap[i]
		i = least
	}
	a.free = append(a.free, slot)
	e := a.slots[slot]
	a.slots[slot].letter = letter{} // so that it can be freed
	return e
}
