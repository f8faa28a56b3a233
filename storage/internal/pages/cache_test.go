package pages

import "testing"

// A copy is that of a page with a certain checksum: another content of the page is not served from memory.
func TestACopyIsOfOneContent(t *testing.T) {
	c := newCache(4096)
	c.put(7, 1, []byte("old"))
	if got := c.get(7, 1); string(got) != "old" {
		t.Errorf("got %q", got)
	}
	if got := c.get(7, 2); got != nil {
		t.Errorf("got %q for a page that was written since", got)
	}
	c.put(7, 2, []byte("new"))
	if old, got := c.get(7, 1), c.get(7, 2); old != nil || string(got) != "new" {
		t.Errorf("got %q and %q", old, got)
	}
	if n := c.bytes(); n != len("new") {
		t.Errorf("%d bytes are kept", n)
	}
	c.drop(7)
	if got := c.get(7, 2); got != nil || c.bytes() != 0 {
		t.Errorf("got %q after it was dropped", got)
	}
}

// The copies are bounded in bytes, whatever is read, and what is asked for all the time is not what has to go.
func TestTheCacheIsBounded(t *testing.T) {
	const pageBytes = 4096
	c := newCache(pageBytes)
	const root = 3
	c.put(root, 1, make([]byte, pageBytes))
	lost := 0
	for id := uint64(10); id < 40_000; id++ {
		c.put(id, 1, make([]byte, pageBytes))
		if c.get(root, 1) == nil {
			lost++
			c.put(root, 1, make([]byte, pageBytes))
		}
	}
	if n := c.bytes(); n > cacheBytes || n < cacheBytes/2 {
		t.Errorf("%d bytes are kept, of at most %d", n, cacheBytes)
	}
	if lost > 0 {
		t.Errorf("the root was lost %d times", lost)
	}
}
