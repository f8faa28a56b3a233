package main

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

// outputDelay is how long to wait for the end of what a command writes once it has ended, if others have its output too.
const outputDelay = time.Second

// commandExit is the exit code of a command that kvctl has run, as an error. It has said itself what there is to say.
type commandExit int

// Error names the code.
func (e commandExit) Error() string {
	return fmt.Sprintf("the command ended with exit code %d", int(e))
}

func commandCode(err error) int {
	var e commandExit
	errors.As(err, &e)
	return int(e)
}

// command is a program that runs.
type command struct {
	cmd   *exec.Cmd
	group bool       // it leads a process group of its own
	done  chan error // what Wait says, once
}

// startCommand starts a command. With a terminal it stays in kvctl's process group, so that it can read from it and hears
// of Ctrl-C itself; else it gets a group of its own, so that what it has started is stopped with it.
func startCommand(cmd *exec.Cmd) (*command, error) {
	c := &command{cmd: cmd, group: !terminalInput(cmd.Stdin), done: make(chan error, 1)}
	c.prepare()
	cmd.WaitDelay = outputDelay
	started := make(chan error, 1)
	go func() {
		// The kernel ends the command when the thread that started it ends, so that must not be before.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if started <- err; err == nil {
			c.done <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// exitOf is the exit code of a command that Wait has said err of.
func exitOf(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return exitDone, nil
	case errors.As(err, &exit):
		return codeOf(exit), nil
	}
	return exitFailed, err
}
