package leases

import (
	"container/heap"
	"slices"
	"time"
)

// timer is one thing to do at a time; one field is set. Timers are never taken back: what they find then decides.
type timer struct {
	queue  *queue // its first may try
	next   *queue // it has another first
	retry  uint64 // request: try again
	expire uint64 // request: it has waited long enough
}

// timers is the timers by time, those of one time in the order in which they were set.
type timers struct {
	list timerHeap
	sets uint64
}

type timerEntry struct {
	at  time.Duration
	set uint64
	do  timer
}

func (s *timers) add(at time.Duration, do timer) {
	s.sets++
	heap.Push(&s.list, timerEntry{at, s.sets, do})
}

// prune drops the timers that keep says nothing is left of.
func (s *timers) prune(keep func(timerEntry) bool) {
	s.list = slices.DeleteFunc(s.list, func(e timerEntry) bool { return !keep(e) })
	heap.Init(&s.list)
}

func (s *timers) first() (time.Duration, bool) {
	if len(s.list) == 0 {
		return 0, false
	}
	return s.list[0].at, true
}

// popDue takes out the first timer if it is due.
func (s *timers) popDue(now time.Duration) (timer, bool) {
	if len(s.list) == 0 || s.list[0].at > now {
		return timer{}, false
	}
	return heap.Pop(&s.list).(timerEntry).do, true
}

type timerHeap []timerEntry

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || (h[i].at == h[j].at && h[i].set < h[j].set)
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(timerEntry)) }
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = timerEntry{}
	*h = (*h)[:last]
	return x
}

// resends is the attempts in the order in which they are due for another sending; all wait equally long, so it is a
// queue. Attempts that are over stay until their time.
type resends struct {
	list []resend
	done int // taken from the front
}

type resend struct {
	at      time.Duration
	counter uint64
}

func (r *resends) add(at time.Duration, counter uint64) {
	if r.done > 1024 && r.done > len(r.list)/2 {
		r.list = append(r.list[:0], r.list[r.done:]...)
		r.done = 0
	}
	r.list = append(r.list, resend{at, counter})
}

func (r *resends) first() (time.Duration, bool) {
	if r.done == len(r.list) {
		return 0, false
	}
	return r.list[r.done].at, true
}

// popDue takes out the first attempt if it is due.
func (r *resends) popDue(now time.Duration) (counter uint64, ok bool) {
	if at, some := r.first(); !some || at > now {
		return 0, false
	}
	r.done++
	return r.list[r.done-1].counter, true
}
