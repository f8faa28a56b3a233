package replica

import (
	"testing"
	"time"

	"tenure/server/replica/effect"
)

// "take the snapshot → then read the clock once: held, same epoch → answer" (log.md, Three ways to read): a read that
// takes its data while the lease runs out shows nothing.
func TestReadRoundReadsTheClockAfterTheData(t *testing.T) {
	for took, want := range map[time.Duration]bool{sec - 1: true, sec: false} {
		p := Published{Tenure: 3, Deadline: sec, Ready: 3, Epoch: 40}
		ticket, _ := p.Begin()
		r, now, taken := NewReadRound(ticket), time.Duration(0), false
		for e := r.Next(); e != effect.Done; e = r.Next() {
			switch e {
			case effect.Data:
				now, taken = took, true
			case effect.Clock:
				r.Read(now, p)
			}
		}
		if !taken || r.Granted() != want {
			t.Errorf("taken until %v of %v: granted is %v", took, p.Deadline, r.Granted())
		}
	}
}

// Whoever reads must hand over the reading that it is asked for.
func TestAReadDoesNotGoOnWithoutTheClock(t *testing.T) {
	r := NewReadRound(Ticket{})
	for r.Next() != effect.Clock {
	}
	defer func() {
		if recover() == nil {
			t.Error("it goes on")
		}
	}()
	r.Next()
}
