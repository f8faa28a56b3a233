package client

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// hedgeAfter is how long an endpoint that has never answered may take over a read before the next one is asked too. A
// node that is well answers much sooner; one that is suspended takes the connection and never answers.
const hedgeAfter = 150 * time.Millisecond

// result is how a try of a read has ended.
type result struct {
	endpoint *endpoint
	answer   answer
	err      error
}

// useful reports whether the answer ends a call, or none of another node would be better.
func (r *result) useful() bool {
	a := r.answer
	return r.err == nil && (a.status == http.StatusOK || a.absent() || kindOfRefusal(a.code()) != nil)
}

// mayHedge reports whether to ask other nodes as well if e is slow with r. Only reads may be sent twice at a time, and
// a read that waits for a change is slow by design. Once e has answered, a slow answer means work: others would have as
// much of it, so that they are asked only when e is silent for the whole limit.
func mayHedge(e *endpoint, r request) bool {
	return r.isRead() && r.silenceLimit == 0 && !r.noSilenceLimit && r.beforeTry == nil && !e.answered.Load()
}

// exchangeRead is exchange for the read r, tries' next being e. While e has not begun to answer, and no other endpoint
// has a useful answer, it asks another one after each hedgeAfter, as far as this round of tries has any. Failures but
// for that of the result are recorded in tries. All that it begins has ended when it returns.
func (s *sender) exchangeRead(ctx context.Context, tries *tries, e *endpoint, r request) result {
	if e == tries.near || !mayHedge(e, r) {
		a, _, err := s.exchangeBy(ctx, tries, e, r)
		return result{e, a, err}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	results := make(chan result, len(tries.list)+1)
	ask := func(e *endpoint) {
		running.Go(func() {
			a, _, err := s.exchange(ctx, e, r)
			results <- result{e, a, err}
		})
	}
	ask(e)
	pending := 1
	timer := time.NewTimer(hedgeAfter)
	defer timer.Stop()
	for {
		select {
		case x := <-results:
			pending--
			if pending == 0 || x.useful() {
				return x
			}
			tries.failed(x.endpoint, x.failure())
		case <-timer.C:
			if e.answered.Load() {
				continue // it is sending a long answer
			}
			if next := tries.another(); next != nil {
				ask(next)
				pending++
				timer.Reset(hedgeAfter)
			}
		}
	}
}

// failure returns the error for a result that is not useful.
func (r *result) failure() error {
	if r.err != nil {
		return r.err
	}
	return r.answer.failure()
}

// findLive makes an endpoint at which a node answers the first to be tried, if none has answered yet. It serves calls
// whose first request goes to one node only and would wait if that node hangs. It asks each endpoint once at most, and
// an error is left to the call.
func (s *sender) findLive(ctx context.Context) {
	if s.answered.Load() || len(s.endpoints.all()) == 1 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.AttemptTimeout)
	defer cancel()
	tries := s.tries()
	for range tries.list {
		e := tries.another()
		if e == nil {
			return
		}
		x := s.exchangeRead(ctx, tries, e, statusRequest)
		if x.useful() {
			tries.succeeded(x.endpoint)
			return
		}
	}
}
