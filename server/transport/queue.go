package transport

import "sync"

// queue holds the bodies that wait for the writer of one connection, and accounts for those that it is writing.
// It never blocks. Both limits count bodies until they are written.
type queue struct {
	maxFrames, maxBytes int
	// dropOldest makes space by dropping what has waited longest (a stale lease message is of no use). Without it
	// the new body is refused.
	dropOldest bool
	ready      chan struct{} // holds a token when there may be something to take

	mu            sync.Mutex
	frames        [][]byte
	queued, taken int // bytes
	takenFrames   int
	closed        bool
	idle          []chan struct{} // closed when nothing waits or is being written any more
}

func newQueue(frames, bytes int, dropOldest bool) *queue {
	return &queue{maxFrames: frames, maxBytes: bytes, dropOldest: dropOldest, ready: make(chan struct{}, 1)}
}

// push adds body and reports whether it did; dropped is the number of bodies that were dropped for it.
func (q *queue) push(body []byte) (ok bool, dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, 0
	}
	for q.full(len(body)) {
		if !q.dropOldest || len(q.frames) == 0 {
			return false, dropped
		}
		q.queued -= len(q.frames[0])
		q.frames[0] = nil
		q.frames = q.frames[1:]
		dropped++
	}
	q.frames = append(q.frames, body)
	q.queued += len(body)
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return true, dropped
}

func (q *queue) full(more int) bool {
	return len(q.frames)+q.takenFrames >= q.maxFrames || q.queued+q.taken+more > q.maxBytes
}

// take moves bodies to batch until it has taken limit bytes, at least one body if there is one. They stay accounted for
// until written is called.
func (q *queue) take(batch [][]byte, limit int) [][]byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for bytes := 0; n < len(q.frames) && bytes < limit; n++ {
		bytes += len(q.frames[n])
		q.queued -= len(q.frames[n])
		q.taken += len(q.frames[n])
	}
	batch = append(batch, q.frames[:n]...)
	clear(q.frames[:n])
	q.frames = q.frames[n:]
	q.takenFrames += n
	if len(q.frames) == 0 {
		q.frames = nil
	}
	return batch
}

// written releases all that was taken.
func (q *queue) written() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken, q.takenFrames = 0, 0
	q.tellIdle()
}

// drained returns a channel that is closed when nothing waits or is being written.
func (q *queue) drained() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := make(chan struct{})
	q.idle = append(q.idle, c)
	q.tellIdle()
	return c
}

func (q *queue) tellIdle() {
	if len(q.frames)+q.takenFrames > 0 && !q.closed {
		return
	}
	for _, c := range q.idle {
		close(c)
	}
	q.idle = nil
}

// close drops what waits and refuses what comes.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.frames, q.queued = true, nil, 0
	q.tellIdle()
}

// size returns how many frames and bytes are accounted for.
func (q *queue) size() (frames, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.frames) + q.takenFrames, q.queued + q.taken
}
