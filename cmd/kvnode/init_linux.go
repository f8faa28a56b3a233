package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tenure/server/guardian"
)

// lingers is how long init waits for other processes once the node has ended: somewhat longer than a guardian lives.
const lingers = guardian.SpeaksFor + 300*time.Millisecond

// passedOn are the signals that init passes on to the node. Process 1 gets only those for which it has a handler.
var passedOn = []os.Signal{
	syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
}

// runInit runs a command as a child of this process, and returns its exit code once it and the processes that it has
// left behind have ended, or lingers after it has.
func runInit(command, environ []string) (code int, err error) {
	// Where this is not process 1, those who have lost their parent come here all the same.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("init: take in processes without a parent: %w", err)
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn...) // before the child is there: none is lost
	defer signal.Stop(signals)
	child, err := syscall.ForkExec(command[0], command, &syscall.ProcAttr{Env: environ, Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 0, fmt.Errorf("init: start %s: %w", command[0], err)
	}
	debug.FreeOSMemory() // nothing more is needed here
	died, all := make(chan int, 1), make(chan struct{})
	go reap(child, died, all)
	for {
		select {
		case s := <-signals:
			// It may be gone already. Its number is not another process's before the kernel has used all the others.
			_ = syscall.Kill(child, s.(syscall.Signal))
		case code := <-died:
			select {
			case <-all:
			case <-time.After(lingers):
			}
			return code, nil
		}
	}
}

// reap waits for child and for all processes that come to have this one as their parent. It sends the exit code of
// child to died, and closes all when there are no more.
func reap(child int, died chan<- int, all chan<- struct{}) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // ECHILD
			close(all)
			return
		case pid == child && status.Signaled():
			died <- 128 + int(status.Signal())
		case pid == child:
			died <- status.ExitStatus()
		}
	}
}
