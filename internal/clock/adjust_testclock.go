//go:build tenure_testclock

package clock

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// In this build the clock errs as a file says. So tests can show the promises that hold while clocks err by less than
// they may, and the promises that need no clock. The variable TENURE_TESTCLOCK names the file. The file holds a rate
// error in parts per million and the sum of all jumps so far in nanoseconds, with a blank between them. It is read
// every few milliseconds and may be replaced at any time. The readings, true and wrong, are written beside it with the
// suffix ".seen", so that a test can tell that it took effect. Without the variable the clock is right.
const (
	testClockVariable = "TENURE_TESTCLOCK"
	testClockInterval = 5 * time.Millisecond
	partsPerMillion   = 1_000_000
)

// wrong maps true readings to wrong ones: from base on at another rate, starting at shown.
type wrong struct {
	base, shown time.Duration
	ratePPM     int64
	jumped      time.Duration // sum of the jumps in shown
}

func (w *wrong) at(d time.Duration) time.Duration {
	past := d - w.base
	return w.shown + past + time.Duration(int64(past)/partsPerMillion*w.ratePPM+
		int64(past)%partsPerMillion*w.ratePPM/partsPerMillion)
}

var testClock atomic.Pointer[wrong]

func init() {
	testClock.Store(&wrong{})
	if file := os.Getenv(testClockVariable); file != "" {
		c := New()
		follow(c, file) // before anybody reads a clock: the node's first reading is already wrong
		go func() {
			for {
				time.Sleep(testClockInterval)
				follow(c, file)
			}
		}()
	}
}

// follow applies what the file says, from now on. A reading that another goroutine makes meanwhile is of an
// instant within its call, by the old map or the new one; a jump back freezes the clock, for it never goes backwards.
func follow(c *Clock, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	var ratePPM, jumped int64
	if _, err := fmt.Sscan(string(text), &ratePPM, &jumped); err != nil {
		return // being replaced
	}
	w, now := testClock.Load(), c.source.read()
	if w.ratePPM != ratePPM || int64(w.jumped) != jumped {
		w = &wrong{base: now, shown: w.at(now) + time.Duration(jumped) - w.jumped, ratePPM: ratePPM,
			jumped: time.Duration(jumped)}
		testClock.Store(w)
	}
	seen := fmt.Sprintf("%d %d %d %d\n", ratePPM, jumped, now, w.at(now))
	if os.WriteFile(file+".new", []byte(seen), 0o644) == nil {
		_ = os.Rename(file+".new", file+".seen")
	}
}

func adjust(d time.Duration) time.Duration { return testClock.Load().at(d) }
