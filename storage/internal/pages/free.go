package pages

import (
	"math/bits"
	"slices"
)

// FreeList is a set of free pages of a bbolt file. It is valid until the next write to the file.
type FreeList struct{ pages bitmap }

// Free returns the pages that are free in the newest transaction. No transaction that writes runs.
func (c *File) Free() FreeList { return FreeList{c.views.newest().free} }

// Has reports whether page id, one of the file, is in p.
func (p FreeList) Has(id uint64) bool { return p.pages.has(id) }

// Reusable returns the pages that are free in every transaction that anybody can read: the newest one, the one before,
// and those of open views. The caller must not write to the file while it uses the result.
func (c *File) Reusable() FreeList {
	v := &c.views
	v.opening.Lock() // after this, a view that opens is one of the newest transaction
	defer v.opening.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	free := slices.Clone(v.transactions[v.settled.Load()].free)
	for _, t := range v.transactions {
		for i := range free {
			free[i] &= t.unused(i)
		}
	}
	return FreeList{free}
}

// unused returns a word of the bitmap of pages that the tree of t does not have.
func (t *transaction) unused(word int) (b uint64) {
	if word < len(t.free) {
		b = t.free[word]
	}
	if first := 64 * uint64(word); t.meta.HighWater < first+64 {
		b |= ^uint64(0) << (max(t.meta.HighWater, first) - first)
	}
	return b
}

// LastRuns calls fn with runs of consecutive pages below page below, the highest first. It ends when the runs have so
// many pages in all, or after as many runs. It returns the first page of the last run, or 0 if no free page is below
// it.
func (p FreeList) LastRuns(below, pages uint64, runs int, fn func(first, n uint64) error) (next uint64, err error) {
	next = below
	for ; pages > 0 && runs > 0; runs-- {
		first, n := p.before(next), uint64(1)
		if first == 0 {
			return 0, nil
		}
		for n < pages && p.pages.has(first-1) {
			first, n = first-1, n+1
		}
		if err := fn(first, n); err != nil {
			return 0, err
		}
		next, pages = first, pages-n
	}
	if p.before(next) == 0 {
		return 0, nil
	}
	return next, nil
}

// before returns the last page of p below page id, or 0 if there is none: page 0 is never free.
func (p FreeList) before(id uint64) uint64 {
	id = min(id, 64*uint64(len(p.pages)))
	for ; id > 0; id = (id - 1) / 64 * 64 {
		if b := p.pages[(id-1)/64] << (63 - (id-1)%64); b != 0 {
			return id - 1 - uint64(bits.LeadingZeros64(b))
		}
	}
	return 0
}
