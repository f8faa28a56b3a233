// Package child runs the command under a lock, a lease or an election, and ends it when it must.
package child

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

// outputDelay is how long to wait for the rest of a command's output once it has ended, if other processes share the
// output.
const outputDelay = time.Second

// Exit is the exit code of a command that failed, as an error. The command has reported its failure itself.
type Exit int

// Error names the code.
func (e Exit) Error() string { return fmt.Sprintf("the command ended with exit code %d", int(e)) }

// Process is a command that runs.
type Process struct {
	cmd   *exec.Cmd
	group bool       // it leads its own process group
	done  chan error // the result of Wait, once
}

// Start starts a command. With a terminal it stays in kvctl's process group, so that it can read from it and hears of
// Ctrl-C itself; else it gets a group of its own, so that what it has started is stopped with it.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, group: !terminalInput(cmd.Stdin), done: make(chan error, 1)}
	p.prepare()
	cmd.WaitDelay = outputDelay
	started := make(chan error, 1)
	go func() {
		// The kernel ends the command when the thread that started it ends, so that must not be before.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if started <- err; err == nil {
			p.done <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Supervise waits until the command has ended and returns the result of Wait. If ctx ends or lost is closed before
// that, it terminates the command, and kills it if that takes longer than killAfter. wasLost reports that lost was
// closed.
func (p *Process) Supervise(ctx context.Context, lost <-chan struct{}, killAfter time.Duration) (err error,
	wasLost bool) {
	select {
	case err := <-p.done:
		return err, false
	case <-lost:
		wasLost = true
	case <-ctx.Done():
	}
	p.terminate()
	timer := time.NewTimer(killAfter)
	defer timer.Stop()
	select {
	case err = <-p.done:
	case <-timer.C:
		p.kill()
		err = <-p.done
	}
	return err, wasLost
}

// ExitCode returns the exit code of a command, in a shell's manner, for which Supervise has returned waited, or an
// error if the command could not be run properly.
func ExitCode(waited error) (int, error) {
	var exit *exec.ExitError
	switch {
	case waited == nil, errors.Is(waited, exec.ErrWaitDelay):
		return 0, nil
	case errors.As(waited, &exit):
		return codeOf(exit), nil
	}
	return 1, waited
}
