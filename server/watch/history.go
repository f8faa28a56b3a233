package watch

import "tenure/kv"

// eventBytes is about what a remembered change takes besides its key and value.
const eventBytes = 224

// history is the newest changes, in the order of their application, in a ring that grows up to its limits.
type history struct {
	ring  []kv.Changed // its length is a power of two, or 0
	next  uint64       // number of the change to come; they are counted from the start of the node
	first uint64       // number of the oldest one in the ring
	bytes int64
	base  uint64 // every change after this revision is in the ring
	last  uint64 // the newest revision of which every change is in it
	begun bool
}

func (h *history) begin(revision uint64) {
	// Lost cursors must find out: their numbers lie below first then.
	*h = history{next: h.next + 1, first: h.next + 1, base: revision, last: revision, begun: true}
}

func (h *history) len() int { return int(h.next - h.first) }

func (h *history) at(number uint64) *kv.Changed { return &h.ring[number&uint64(len(h.ring)-1)] }

func (h *history) add(c kv.Changed, l Limits) {
	h.bytes += sizeOf(&c)
	for h.len() > 0 && (h.len() >= l.Events || h.bytes > l.Bytes) {
		h.forget()
	}
	if h.len() == len(h.ring) {
		h.grow()
	}
	*h.at(h.next) = c
	h.next++
	if c.Last {
		h.last = c.Revision
	}
}

// forget drops the oldest change, and with it the promise to know all of its revision.
func (h *history) forget() {
	e := h.at(h.first)
	h.base = e.Revision
	h.bytes -= sizeOf(e)
	*e = kv.Changed{}
	h.first++
}

func (h *history) grow() {
	old := *h
	h.ring = make([]kv.Changed, max(64, 2*len(h.ring)))
	for i := h.first; i < h.next; i++ {
		*h.at(i) = *old.at(i)
	}
}

func sizeOf(c *kv.Changed) int64 {
	n := eventBytes + len(c.Key) + len(c.Session)
	if c.Entry != nil {
		n += len(c.Entry.Value)
	}
	return int64(n)
}

// after is the number of the first change with a higher revision.
func (h *history) after(revision uint64) uint64 {
	lo, hi := h.first, h.next
	for lo < hi {
		if mid := lo + (hi-lo)/2; h.at(mid).Revision > revision {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
