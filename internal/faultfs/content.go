//go:build linux

package faultfs

import (
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
)

const (
	pageBytes   = 4096
	sectorBytes = 512
)

// Loss is what a crash leaves of what was written and not synced.
type Loss struct {
	Seed uint64  // of the choice: the same seed and the same writes leave the same bytes
	Keep float64 // the chance of each unsynced page to survive; 0 drops them all
	Torn bool    // half of the surviving pages keep only their first sectors
}

// content is one file: what the disk has, and what was written since the last sync.
type content struct {
	mu      sync.Mutex
	disk    *os.File
	durable int64            // size on the disk
	shown   int64            // how much of the disk's bytes still shows: a truncation hides the rest
	size    int64            // as the program sees it
	pages   map[int64][]byte // unsynced, by number, whole
	clean   map[int64]bool   // those of pages that a sync which failed gave up: no later sync writes them
}

func newContent(f *os.File) (*content, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	c := &content{disk: f, durable: end, shown: end, size: end, pages: map[int64][]byte{}, clean: map[int64]bool{}}
	return c, nil
}

// page returns what the program sees of page i, whole, and zeros behind the end. The caller holds mu.
func (c *content) page(i int64) ([]byte, error) {
	if p := c.pages[i]; p != nil {
		return p, nil
	}
	return c.diskPage(i, c.shown)
}

// diskPage returns page i of the disk's first `shown` bytes.
func (c *content) diskPage(i, shown int64) ([]byte, error) {
	p := make([]byte, pageBytes)
	if n := min(shown-i*pageBytes, pageBytes); n > 0 {
		if _, err := c.disk.ReadAt(p[:n], i*pageBytes); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (c *content) readAt(b []byte, off int64) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b = b[:max(0, min(int64(len(b)), c.size-off))]
	for done := 0; done < len(b); {
		at := off + int64(done)
		p, err := c.page(at / pageBytes)
		if err != nil {
			return done, err
		}
		done += copy(b[done:], p[at%pageBytes:])
	}
	return len(b), nil
}

func (c *content) writeAt(b []byte, off int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for done := 0; done < len(b); {
		at := off + int64(done)
		p, err := c.page(at / pageBytes)
		if err != nil {
			return err
		}
		c.pages[at/pageBytes] = p
		delete(c.clean, at/pageBytes)
		done += copy(p[at%pageBytes:], b[done:])
	}
	c.size = max(c.size, off+int64(len(b)))
	return nil
}

func (c *content) truncate(size int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if size < c.size {
		for i := range c.pages {
			if i*pageBytes >= size {
				delete(c.pages, i)
				delete(c.clean, i)
			}
		}
		c.shown = min(c.shown, size)
		if p := c.pages[size/pageBytes]; p != nil {
			clear(p[size%pageBytes:])
		}
	}
	c.size = size
	return nil
}

// sync moves everything to the disk.
func (c *content) sync() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shown < c.durable {
		if err := c.disk.Truncate(c.shown); err != nil {
			return err
		}
	}
	if err := c.disk.Truncate(c.size); err != nil {
		return err
	}
	for i, p := range c.pages {
		if c.clean[i] {
			continue
		}
		n := min(c.size-i*pageBytes, pageBytes)
		if n <= 0 {
			continue
		}
		if _, err := c.disk.WriteAt(p[:n], i*pageBytes); err != nil {
			return err
		}
		delete(c.pages, i)
	}
	c.durable, c.shown = c.size, c.size
	return nil
}

// failSync is a sync that fails: as on Linux, what it did not write can still be read and is not written by the next
// one.
func (c *content) failSync() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.pages {
		c.clean[i] = true
	}
}

// crash forgets all data that was not synced, except what loss keeps. It returns how many pages were lost, in whole or
// in part.
func (c *content) crash(loss Loss, r *rand.Rand) (lost int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	numbers := make([]int64, 0, len(c.pages))
	for i := range c.pages {
		numbers = append(numbers, i)
	}
	slices.Sort(numbers)
	for _, i := range numbers {
		n := min(c.size-i*pageBytes, pageBytes)
		if n <= 0 {
			continue
		}
		if r.Float64() >= loss.Keep {
			lost++
			continue
		}
		if loss.Torn && r.IntN(2) == 0 {
			n = min(n, sectorBytes*int64(1+r.IntN(pageBytes/sectorBytes-1)))
			lost++
		}
		if _, err := c.disk.WriteAt(c.pages[i][:n], i*pageBytes); err != nil {
			return lost, err
		}
		c.durable = max(c.durable, i*pageBytes+n)
	}
	c.pages = map[int64][]byte{}
	clear(c.clean)
	c.size, c.shown = c.durable, c.durable
	return lost, nil
}

// flip inverts the bits of mask in the byte at off, on the disk and in what the program sees.
func (c *content) flip(off int64, mask byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.pages[off/pageBytes]; p != nil {
		p[off%pageBytes] ^= mask
	}
	if off >= c.durable {
		return nil
	}
	var b [1]byte
	if _, err := c.disk.ReadAt(b[:], off); err != nil {
		return err
	}
	b[0] ^= mask
	_, err := c.disk.WriteAt(b[:], off)
	return err
}

func (c *content) length() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}
