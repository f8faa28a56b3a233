package sealed

// Arena hands out pieces of a larger chunk, which stay untouched until the transaction that uses them has ended. The
// zero value is ready for use. It is not safe for concurrent use.
type Arena struct{ chunk, free []byte }

const (
	arenaChunkBytes = 128 << 10 // of the first chunk
	arenaMaxBytes   = 1 << 20   // of the largest, which is kept
)

// Reset makes the last chunk free again, once no transaction uses it.
func (a *Arena) Reset() { a.free = a.chunk }

// Alloc returns an empty slice with space for n bytes.
func (a *Arena) Alloc(n int) []byte {
	if n > arenaMaxBytes/2 {
		return make([]byte, 0, n)
	}
	if len(a.free) < n { // once a chunk is as large as a transaction no more are made
		a.chunk = make([]byte, max(n, arenaChunkBytes, min(2*len(a.chunk), arenaMaxBytes)))
		a.free = a.chunk
	}
	piece := a.free[:0:n]
	a.free = a.free[n:]
	return piece
}
