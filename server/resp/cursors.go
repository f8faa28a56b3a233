package resp

import (
	"strconv"
	"sync"
)

// cursors remembers where listings in parts have come to. Clients take a cursor for a number, so a key cannot be one. It is
// safe for concurrent use: a client may go on on another connection.
type cursors struct {
	mu    sync.Mutex
	keys  map[uint64]string
	order []uint64 // of them, the oldest first
	next  uint64
}

// maxCursors bounds how many are remembered, the newest.
const maxCursors = 4096

// keep returns the cursor behind key.
func (c *cursors) keep(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil {
		c.keys = make(map[uint64]string)
	}
	if len(c.order) == maxCursors {
		delete(c.keys, c.order[0])
		c.order = append(c.order[:0], c.order[1:]...)
	}
	c.next++
	c.keys[c.next] = key
	c.order = append(c.order, c.next)
	return strconv.FormatUint(c.next, 10)
}

// find returns the key that a cursor is behind. A cursor stays good: a client may repeat a call.
func (c *cursors) find(cursor string) (key string, known bool) {
	n, err := strconv.ParseUint(cursor, 10, 64)
	if err != nil {
		return "", false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key, known = c.keys[n]
	return key, known
}
