package main

import (
	"fmt"
	"os"
	"strconv"
)

// monitorSlack is how much later than it asks Go's monitor thread may be woken.
//
// The monitor looks for system calls that hold one of the scheduler's processors, every 20 µs as long as it finds some. A
// busy node writes to sockets all the time, so it always finds some, takes the processor away, and wakes another thread
// for it: with one processor that was 10 % of a node's time under load, and more in the switches between threads that
// followed. With this slack puts of 64 clients cost 0.88 of the processor time (five rounds of 3 s, alternated). The price: a system
// call that does wait, for the disk, keeps others from running for so much longer.
const monitorSlack = 500_000 // ns

// relaxMonitor gives the monitor thread its slack. Linux lets a process do so with CAP_SYS_NICE alone; without it nothing
// changes, and TimerSlackNSec= in a systemd unit does the same for all threads.
func relaxMonitor() error {
	tid, err := monitorThread()
	if err != nil {
		return err
	}
	// The file is of the process's directory, but takes any thread's number for the process's.
	return os.WriteFile("/proc/"+tid+"/timerslack_ns", strconv.AppendInt(nil, monitorSlack, 10), 0)
}

// monitorThread is the one that Go's runtime starts first, before any package is initialized: the second in the order of their
// making, in which the kernel lists them. If that changes some other thread gets the slack, which does no harm.
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
