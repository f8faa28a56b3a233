package backend

import (
	"sync"
	"sync/atomic"
	"time"
)

// questions are the questions of one kind that this node asks others, and answers for others. Both are bounded. An
// asked question stays in a table until its answer comes or its caller gives up. Made by newQuestions; any number of
// goroutines may use it.
type questions[A any] struct {
	max    int
	nextID atomic.Uint64
	busy   atomic.Int64 // questions of others that are worked on here

	mu      sync.Mutex
	waiting map[uint64]chan A
}

// newQuestions returns questions with at most max waiting, and at most max worked on. firstID must differ between runs,
// so that no answer to a question of an earlier run is taken.
func newQuestions[A any](firstID uint64, max int) *questions[A] {
	q := &questions[A]{max: max, waiting: map[uint64]chan A{}}
	q.nextID.Store(firstID)
	return q
}

// asked is what became of a question.
type asked int

const (
	tooMany    asked = iota // nothing was sent: as many questions wait as may
	unsent                  // nothing was sent: there is no connection
	unanswered              // it was sent, and no answer came in time
	answered
)

// ask has send put a question with an id to another node, and waits for its answer until the time is over or ended is
// closed.
func (q *questions[A]) ask(wait time.Duration, ended <-chan struct{}, send func(id uint64) bool) (answer A, how asked) {
	id, c := q.nextID.Add(1), make(chan A, 1)
	if !q.open(id, c) {
		return answer, tooMany
	}
	defer q.close(id)
	if !send(id) {
		return answer, unsent
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case answer = <-c:
		return answer, answered
	case <-timer.C:
	case <-ended:
	}
	return answer, unanswered
}

// answer gives the answer to the caller of the question with that id. An answer without a waiting caller is dropped.
func (q *questions[A]) answer(id uint64, answer A) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c := q.waiting[id]; c != nil {
		c <- answer
		delete(q.waiting, id)
	}
}

// work runs do, the work on a question of another node, in a new goroutine, since the caller must not wait. It returns
// false, and does nothing, if max questions are being worked on.
func (q *questions[A]) work(do func()) bool {
	if q.busy.Add(1) > int64(q.max) {
		q.busy.Add(-1)
		return false
	}
	go func() {
		defer q.busy.Add(-1)
		do()
	}()
	return true
}

func (q *questions[A]) open(id uint64, c chan A) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= q.max {
		return false
	}
	q.waiting[id] = c
	return true
}

func (q *questions[A]) close(id uint64) {
	q.mu.Lock()
	delete(q.waiting, id)
	q.mu.Unlock()
}
