package bench

import (
	"context"
	"math"
	"time"
)

// sleepStep is the longest that a sleep goes on after the run was interrupted.
const sleepStep = 50 * time.Millisecond

// pace is the schedule of an open loop: request i is due at start + i/rate, however the earlier ones fare. One client
// at a time waits for the next due time; when all are busy, nobody does, and the schedule runs ahead of what was sent.
type pace struct {
	start time.Time
	end   time.Time // no request is due from here on
	rate  float64
	sleep func(time.Duration)
	turn  chan int64 // holds the number of the next request while no client has taken it
}

func newPace(start, end time.Time, rate float64, sleep func(time.Duration)) *pace {
	p := &pace{start: start, end: end, rate: rate, sleep: sleep, turn: make(chan int64, 1)}
	p.turn <- 0
	return p
}

// due is when request i is to be sent.
func (p *pace) due(i int64) time.Time {
	return p.start.Add(time.Duration(float64(i) / p.rate * float64(time.Second)))
}

// next waits for the next request's time and returns it, or false if there is none before the end, if giveUp has
// passed, or if ctx has ended.
func (p *pace) next(ctx context.Context, giveUp time.Time) (time.Time, bool) {
	i := <-p.turn
	at := p.due(i)
	for {
		now := time.Now()
		if !at.Before(p.end) || now.After(giveUp) || ctx.Err() != nil {
			p.turn <- i
			return time.Time{}, false
		}
		wait := at.Sub(now)
		if wait <= 0 {
			p.turn <- i + 1
			return at, true
		}
		p.sleep(min(wait, sleepStep))
	}
}

// unsent is how many of the requests due in [from, to) were never sent. No client may be waiting any more.
func (p *pace) unsent(from, to time.Time) uint64 {
	i := <-p.turn
	p.turn <- i
	first := max(i, p.numberAt(from))
	return uint64(max(0, p.numberAt(to)-first))
}

// numberAt is the number of the first request that is due at t or later.
func (p *pace) numberAt(t time.Time) int64 {
	i := max(0, int64(math.Floor(t.Sub(p.start).Seconds()*p.rate))-1)
	for p.due(i).Before(t) {
		i++
	}
	return i
}
