package main

import (
	"context"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// A node mostly waits: for clients, peers and the disk. Each time something arrives, Go's scheduler wakes threads for
// all the processors that it may use, to look for more work, and finds none; on a small machine that was a quarter of a
// node's processor time. So a node starts with one processor, and gets another when it uses the present ones fully.
// docs/performance.md has the reasons and the figures.

const (
	watchEvery = 50 * time.Millisecond
	fullUse    = 0.85 // of the processors allowed: more of them would be used
	idleUse    = 0.5  // of one fewer: they are not needed
	// times in a row that fewer would do before one is taken away: changing stops the program for a moment
	calmFor = 100
)

// allowance is how many processors the scheduler may use, from 1 to most.
type allowance struct {
	now, most int
	calm      int
}

// adjust takes how many processors were used since its last call, and reports whether the allowance changes.
func (a *allowance) adjust(used float64) bool {
	switch {
	case used >= fullUse*float64(a.now):
		a.calm = 0
		if a.now == a.most {
			return false
		}
		a.now++
		return true
	case used < idleUse*float64(a.now-1):
		if a.calm++; a.calm < calmFor {
			return false
		}
		a.calm = 0
		a.now--
		return true
	}
	a.calm = 0
	return false
}

// adaptProcessors adapts the allowance to the process's use until ctx ends. GOMAXPROCS in the environment disables it.
func adaptProcessors(ctx context.Context) {
	if os.Getenv("GOMAXPROCS") != "" {
		return
	}
	a := allowance{now: 1, most: runtime.GOMAXPROCS(0)}
	if a.most == 1 {
		return
	}
	runtime.GOMAXPROCS(a.now)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	began, before := time.Now(), processorTime()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, used := time.Now(), processorTime()
		if a.adjust(float64(used-before) / float64(now.Sub(began))) {
			runtime.GOMAXPROCS(a.now)
		}
		began, before = now, used
	}
}

// processorTime returns the processor time that this process has used so far.
func processorTime() time.Duration {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
