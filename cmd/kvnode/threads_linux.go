package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// relaxMonitor lets Go's monitor thread be woken later than it asks, by up to slack.
//
// The monitor looks for system calls that hold one of the scheduler's processors, every 20 µs as long as it finds some.
// A busy node writes to sockets all the time. So the monitor always finds some, takes the processor away, and wakes
// another thread for it. With one processor that was 10 % of a node's time under load, and more in the switches between
// threads that followed. With half a millisecond of slack puts of 64 clients cost 0.88 of the processor time (five
// rounds of 3 s, alternated). The price: a system call that does wait, for the disk, keeps others from running for so
// much longer.
//
// Linux lets a process do so with CAP_SYS_NICE alone; without it nothing
// changes, and TimerSlackNSec= in a systemd unit does the same for all threads.
func relaxMonitor(slack time.Duration) error {
	tid, err := monitorThread()
	if err != nil {
		return err
	}
	// The file is of the process's directory, but takes any thread's number for the process's.
	return os.WriteFile("/proc/"+tid+"/timerslack_ns", strconv.AppendInt(nil, slack.Nanoseconds(), 10), 0)
}

// monitorThread is the one that Go's runtime starts first, before any package is initialized: the second in the order
// of their making, in which the kernel lists them. If that changes some other thread gets the slack, which does no
// harm.
func monitorThread() (string, error) {
	tasks, err := os.Open("/proc/self/task")
	if err != nil {
		return "", err
	}
	defer tasks.Close()
	threads, err := tasks.Readdirnames(2)
	if err != nil {
		return "", err
	}
	if len(threads) < 2 {
		return "", fmt.Errorf("%d threads", len(threads))
	}
	return threads[1], nil
}

// beBatch has the kernel schedule all threads as SCHED_BATCH. A thread that is woken then waits for a running one to
// sleep, or to have had its share, instead of taking the processor from it at once.
//
// Where clients, nodes and disks share few processors, every message wakes somebody. With the kernel's usual policy
// the reader of each takes the processor before its writer has written the next one: messages are handled one at a
// time, with a switch between processes for each, while they could be handled together. Where processors are idle
// nothing changes. docs/performance.md argues for it. A policy that somebody has chosen is left as it is.
func beBatch() error {
	return schedule(unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH})
}

// beRealtime has the kernel schedule all threads as SCHED_RR, at the lowest of its priorities: before every program
// that is scheduled in the usual way. Linux lets a process do so with CAP_SYS_NICE or an RLIMIT_RTPRIO of 1. A policy
// that somebody has chosen is left as it is.
//
// Where other programs want several times the available processors, a woken node waits for tenths of a second, whatever
// its nice value: with autogroups the kernel shares processors out by sessions. Figures are in docs/performance.md.
func beRealtime() error {
	return schedule(unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1})
}

// schedule gives all threads that have the usual policy another one.
func schedule(as unix.SchedAttr) error {
	for {
		changed, err := scheduleThreads(as)
		if err != nil || !changed {
			return err
		}
	}
}

// scheduleThreads changes the threads that there are. One that was started meanwhile has its starter's policy, maybe
// the old one.
func scheduleThreads(as unix.SchedAttr) (changed bool, err error) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return false, err
	}
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			return false, err
		}
		is, err := unix.SchedGetAttr(tid, 0)
		if errors.Is(err, unix.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return false, err
		}
		if is.Policy != unix.SCHED_NORMAL {
			continue
		}
		if as.Flags = is.Flags; as.Policy == unix.SCHED_BATCH {
			as.Nice = is.Nice
		}
		if err = unix.SchedSetAttr(tid, &as, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return false, err
		}
		changed = true
	}
	return changed, nil
}
