package shorthttp

import (
	"net/http"
	"time"
)

// goneAfter is how many rounds a request runs before its client is looked for.
const goneAfter = 2

// rounds is d in rounds of the sweeper, rounded up, and one more, since the current one has begun.
func (l *Listener) rounds(d time.Duration) int64 {
	return int64((max(d, 0)+l.period-1)/l.period) + 1
}

// sweep looks at all connections until the Listener is closed and the last one has ended.
func (l *Listener) sweep() {
	tick := time.NewTicker(l.period)
	defer tick.Stop()
	head := l.rounds(l.cfg.Header)
	limits := [...]int64{phaseNew: head, phaseIdle: l.rounds(l.cfg.Idle), phaseHead: head, phaseBody: l.rounds(l.cfg.Body)}
	for {
		select {
		case now := <-tick.C:
			l.round.Add(1)
			l.newDate(now)
			l.look(limits[:])
		case <-l.idle:
			return
		}
	}
}

func (l *Listener) look(limits []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	round := l.round.Load()
	for c := range l.conns {
		p := c.phase.Load()
		age := round - c.since.Load()
		switch p {
		case phaseNew, phaseIdle, phaseHead:
			if age > limits[p] {
				c.endIf(p)
			}
			continue
		case phaseBody:
			if age > limits[p] && c.phase.CompareAndSwap(p, phaseOverdue) {
				_ = c.nc.SetReadDeadline(past) // the handler says so to the client
			}
		case phaseHandler:
			if looksAt(age) && gone(c.nc) {
				c.cancel()
			}
		case phaseGone:
			continue
		}
		if round > c.until.Load() && (p == phaseOverdue || c.phase.CompareAndSwap(p, phaseOverdue)) {
			_ = c.nc.SetWriteDeadline(past)
		}
	}
}

// looksAt tells whether the client of a request of that age is looked for: at first in each round, later in every tenth, because
// there may be thousands that wait.
func looksAt(age int64) bool {
	return age >= goneAfter && (age < 10*goneAfter || age%10 == 0)
}

var past = time.Unix(1, 0)

// newDate is what answers say in the second of now.
func (l *Listener) newDate(now time.Time) {
	text := now.UTC().AppendFormat(nil, http.TimeFormat)
	l.date.Store(&text)
}
