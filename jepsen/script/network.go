package script

import (
	"fmt"
	"slices"
	"time"
)

// network holds what is under way. Messages arrive by time, and at the same time in the order in which they were sent.
type network[M any] struct {
	under []posted[M]
}

type posted[M any] struct {
	at time.Duration
	m  M
}

func (n *network[M]) post(at time.Duration, m M) {
	i := len(n.under)
	for i > 0 && n.under[i-1].at > at {
		i--
	}
	n.under = slices.Insert(n.under, i, posted[M]{at, m})
}

// next is when the first message arrives; none if nothing is under way.
func (n *network[M]) next() (time.Duration, bool) {
	if len(n.under) == 0 {
		return 0, false
	}
	return n.under[0].at, true
}

// take removes the first message if it has arrived by now.
func (n *network[M]) take(now time.Duration) (m M, ok bool) {
	if len(n.under) == 0 || n.under[0].at > now {
		return m, false
	}
	m = n.under[0].m
	n.under = slices.Delete(n.under, 0, 1)
	return m, true
}

// takeIf removes the messages that have arrived by now and match, in order.
func (n *network[M]) takeIf(now time.Duration, match func(M) bool) (out []M) {
	n.under = slices.DeleteFunc(n.under, func(p posted[M]) bool {
		if p.at > now || !match(p.m) {
			return false
		}
		out = append(out, p.m)
		return true
	})
	return out
}

// teller gathers lines. What one sender's message does alike at several receivers is told in one line.
type teller struct {
	lines []string
	last  string // all of the last line that must be equal, if it may be joined
}

// stamp is a point of virtual time as scripts show it, in seconds.
func stamp(at time.Duration) string { return fmt.Sprintf("%.3f", at.Seconds()) }

func (t *teller) say(at time.Duration, format string, args ...any) {
	t.lines = append(t.lines, fmt.Sprintf("%7s  ", stamp(at))+fmt.Sprintf(format, args...))
	t.last = ""
}

// message tells what came of a message.
func (t *teller) message(at time.Duration, from, to, what string) {
	head := fmt.Sprintf("%7s  %s→", stamp(at), from)
	key := head + what
	if t.last == key {
		line := &t.lines[len(t.lines)-1]
		*line = (*line)[:len(*line)-len(" "+what)] + "," + to + " " + what
		return
	}
	t.lines = append(t.lines, head+to+" "+what)
	t.last = key
}

func (t *teller) take() []string {
	lines := t.lines
	*t = teller{}
	return lines
}
