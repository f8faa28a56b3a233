package backend

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuestions[string](100, 2)
		sent := make(chan uint64, 9)
		send := func(id uint64) bool { sent <- id; return true }
		type result struct {
			answer string
			how    asked
		}
		results := make(chan result, 9)
		ask := func(ended chan struct{}) uint64 {
			go func() {
				answer, how := q.ask(time.Second, ended, send)
				results <- result{answer, how}
			}()
			synctest.Wait()
			return <-sent
		}
		want := func(w result) {
			t.Helper()
			if r := <-results; r != w {
				t.Errorf("%+v, want %+v", r, w)
			}
		}

		first, second := ask(nil), ask(nil)
		if first <= 100 || first == second {
			t.Errorf("ids %d and %d", first, second)
		}
		if _, how := q.ask(time.Second, nil, send); how != tooMany || len(sent) != 0 {
			t.Errorf("a third: %v, %d sent", how, len(sent))
		}
		q.answer(second, "second")
		want(result{"second", answered})
		q.answer(second, "again")
		want(result{"", unanswered}) // the first, after a second
		q.answer(first, "late")

		ended := make(chan struct{})
		ask(ended)
		close(ended)
		want(result{"", unanswered})
		if _, how := q.ask(time.Second, nil, func(uint64) bool { return false }); how != unsent {
			t.Errorf("without a connection: %v", how)
		}
		if len(q.waiting) != 0 {
			t.Errorf("%d still wait", len(q.waiting))
		}
	})
}

func TestWorkIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuestions[string](0, 2)
		begin := make(chan struct{})
		var done atomic.Int64
		work := func() bool {
			return q.work(func() {
				<-begin
				done.Add(1)
			})
		}
		for i, want := range []bool{true, true, false} {
			if got := work(); got != want {
				t.Errorf("work %d: %v", i, got)
			}
		}
		close(begin)
		synctest.Wait()
		if n := done.Load(); n != 2 {
			t.Errorf("%d were done", n)
		}
		if !work() {
			t.Error("nothing is worked on any more")
		}
	})
}
