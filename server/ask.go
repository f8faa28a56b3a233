package server

import (
	"sync"
	"time"

	"tenure/server/replica"
)

// ask is where a handler waits for the log loop's reply. Those that got it are used again: none is made for each
// request, nor a timer.
type ask struct {
	reply chan replica.Reply // space for the one reply
	timer *time.Timer        // stopped while nobody waits
}

var asks = sync.Pool{New: func() any {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &ask{reply: make(chan replica.Reply, 1), timer: t}
}}

func newAsk() *ask { return asks.Get().(*ask) }

// wait is the log loop's reply; ok is false if the node ends, or if none comes within patience and the two ticks in
// which the loop notices by itself that it has passed: it knows better what became of the request.
func (a *ask) wait(patience time.Duration, ended <-chan struct{}) (r replica.Reply, ok bool) {
	a.timer.Reset(patience + 2*replica.TickEvery)
	select {
	case r = <-a.reply:
	case <-a.timer.C:
		return r, false // the reply may come yet: a is not used again
	case <-ended:
		select {
		case r = <-a.reply:
		case <-time.After(2 * replica.TickEvery):
			return r, false
		}
	}
	a.timer.Stop()
	asks.Put(a)
	return r, true
}
