package backend

import (
	"errors"
	"math"
	"testing"
	"time"
)

// Only the first reader waits for a count, and a long count is not repeated soon.
func TestKeyCount(t *testing.T) {
	counts, begun := make(chan int), make(chan struct{}, 10)
	k := &keyCount{count: func() (int, error) {
		begun <- struct{}{}
		n := <-counts
		if n < 0 {
			return 0, errors.New("failed")
		}
		return n, nil
	}}
	go func() { counts <- 7 }()
	if n := k.read(); n != 7 {
		t.Errorf("the first reader gets %v", n)
	}
	<-begun
	if n := k.read(); n != 7 || k.running != nil {
		t.Errorf("%v, and another count has begun at once: %v", n, k.running != nil)
	}
	k.mu.Lock()
	k.next = time.Time{}
	k.mu.Unlock()
	if n := k.read(); n != 7 {
		t.Errorf("during a count: %v", n)
	}
	<-begun
	if n := k.read(); n != 7 || len(begun) != 0 {
		t.Errorf("%v, and %d counts run beside one", n, len(begun))
	}
	counts <- -1
	failing := &keyCount{count: func() (int, error) { return 0, errors.New("failed") }}
	if n := failing.read(); !math.IsNaN(n) {
		t.Errorf("a count that failed is %v", n)
	}
}
