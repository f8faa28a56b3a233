package transport

import (
	"sync"
	"time"
)

// quiet says whether a complaint may be logged: the same one once, and at most maxComplaints different ones, in each
// span of logEvery. So whatever strangers send, the log does not fill.
type quiet struct {
	mu    sync.Mutex
	began time.Time
	said  map[string]struct{}
}

func (q *quiet) allow(complaint string, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.said == nil || now.Sub(q.began) >= logEvery {
		q.began, q.said = now, make(map[string]struct{})
	}
	if _, said := q.said[complaint]; said || len(q.said) >= maxComplaints {
		return false
	}
	q.said[complaint] = struct{}{}
	return true
}
