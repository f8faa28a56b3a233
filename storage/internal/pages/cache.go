package pages

import (
	"sync"
	"sync/atomic"
)

// cacheBytes bounds the branch pages that are kept in memory. A million keys of 256 bytes have some 7 MiB of them. A
// small store has few, and what a checkpoint replaces is dropped: so the cache is about a hundredth of the file.
const (
	cacheBytes = 16 << 20
	cacheWays  = 8 // places in which a page may be
)

// cache has checked copies of pages. A copy stays true whatever happens to the file, as long as its checksum is the
// page's; a copy that is out of date has another one. Readers take no lock.
type cache struct{ sets []cacheSet }

// cacheSet has the pages whose numbers have a certain hash.
type cacheSet struct {
	ids   [cacheWays]atomic.Uint64 // of pages: readers need no more than these where a page is not here
	pages [cacheWays]atomic.Pointer[cachedPage]

	mu   sync.Mutex // held by whoever changes the set
	hand int        // the place that is looked at next for a page to replace
}

// cachedPage is a checked copy of a page. Nobody changes its data.
type cachedPage struct {
	id   uint64
	sum  uint32
	used atomic.Bool // since the hand has passed
	data []byte
}

func newCache(pageBytes int) cache {
	return cache{sets: make([]cacheSet, max(1, cacheBytes/pageBytes/cacheWays))}
}

func (c *cache) set(id uint64) *cacheSet {
	return &c.sets[(id*0x9e3779b97f4a7c15>>32)%uint64(len(c.sets))]
}

// get returns the copy of page id with the checksum sum, or nil.
func (c *cache) get(id uint64, sum uint32) []byte {
	s := c.set(id)
	for i := range s.ids {
		if s.ids[i].Load() != id {
			continue
		}
		// Another page may have taken the place since.
		p := s.pages[i].Load()
		if p == nil || p.id != id || p.sum != sum {
			return nil
		}
		if !p.used.Load() {
			p.used.Store(true)
		}
		return p.data
	}
	return nil
}

// put keeps data, which nobody changes from now on, as the copy of page id with the checksum sum. It takes the place of
// a page that was not asked for lately.
func (c *cache) put(id uint64, sum uint32, data []byte) {
	s := c.set(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.place(id)
	s.pages[i].Store(&cachedPage{id: id, sum: sum, data: data})
	s.ids[i].Store(id)
}

// place returns where page id is, or where it may go.
func (s *cacheSet) place(id uint64) int {
	free := -1
	for i := range s.ids {
		switch s.ids[i].Load() {
		case id:
			return i
		case 0:
			free = i
		}
	}
	if free >= 0 {
		return free
	}
	for {
		i := s.hand
		s.hand = (i + 1) % cacheWays
		if !s.pages[i].Load().used.Swap(false) {
			return i
		}
	}
}

// drop forgets the copy of page id.
func (c *cache) drop(id uint64) {
	s := c.set(id)
	for i := range s.ids {
		if s.ids[i].Load() == id {
			s.mu.Lock()
			if s.ids[i].Load() == id {
				s.ids[i].Store(0)
				s.pages[i].Store(nil)
			}
			s.mu.Unlock()
		}
	}
}

// bytes returns the memory that the copies take.
func (c *cache) bytes() (n int) {
	for i := range c.sets {
		for j := range c.sets[i].pages {
			if p := c.sets[i].pages[j].Load(); p != nil {
				n += len(p.data)
			}
		}
	}
	return n
}
