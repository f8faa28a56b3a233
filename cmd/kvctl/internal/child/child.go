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

// groupInterval is how often to look whether a process group is empty: nothing tells.
const groupInterval = 10 * time.Millisecond

// GuardCommand is the first argument of a program that is to call Guard and nothing else.
const GuardCommand = "guard-command"

// LaunchCommand is the first argument of a program that is to call Launch and nothing else.
const LaunchCommand = "launch-command"

// Exit is the exit code of a command that failed, as an error. The command has reported its failure itself.
type Exit int

// Error names the code.
func (e Exit) Error() string { return fmt.Sprintf("the command ended with exit code %d", int(e)) }

// Process is a command that runs.
type Process struct {
	cmd   *exec.Cmd
	group bool       // it is in a process group of its own
	guard *guard     // leads the group; nil without one, and once it was dismissed
	done  chan error // the result of Wait, once
}

// Start starts a command. With a terminal the command stays in kvctl's process group, so that it can read from the
// terminal and receives Ctrl-C itself. Otherwise it gets its own group, so that its children are stopped with it, and a
// guard, which stops the group if kvctl is killed. Supervise must be called.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, group: !terminalInput(cmd.Stdin), done: make(chan error, 1)}
	if !p.group {
		if err := p.start(); err != nil {
			return nil, err
		}
		return p, nil
	}
	var err error
	if p.guard, err = startGuard(); err != nil {
		return nil, err
	}
	if err := p.startGuarded(); err != nil {
		p.dismiss()
		return nil, err
	}
	return p, nil
}

// startGuarded starts the command and tells the guard of it before it does anything.
func (p *Process) startGuarded() error {
	l, err := newLaunch(p.cmd)
	if err != nil {
		return err
	}
	err = p.start()
	if l.started(); err != nil {
		l.close()
		return err
	}
	if err := p.guard.watch(p.cmd.Process.Pid); err != nil {
		l.close()
		<-p.done
		return fmt.Errorf("the guard of the command has ended: %w", err)
	}
	if err := l.release(); err != nil {
		<-p.done
		return err
	}
	return nil
}

// dismiss ends the guard, if there is one.
func (p *Process) dismiss() {
	if p.guard != nil {
		p.guard.dismiss()
		p.guard = nil
	}
}

// start starts the command itself.
func (p *Process) start() error {
	cmd := p.cmd
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
	return <-started
}

// Right is what a command runs under. The zero Right has no end.
type Right struct {
	Lost      <-chan struct{}      // closed when it ends
	Remaining func() time.Duration // until it ends, if it is not extended
}

// Supervise waits until the command has ended and returns the result of Wait. If ctx ends or the right is lost before
// that, it terminates the command and its process groups. After killAfter it kills the processes that are left. If the
// command was terminated because the right was lost, wasLost is true: this process terminated it, or the guard did
// while this process was stopped.
func (p *Process) Supervise(ctx context.Context, right Right, killAfter time.Duration) (err error, wasLost bool) {
	defer p.dismiss()
	stop := p.tellGuard(right, killAfter)
	defer stop()
	select {
	case err := <-p.done:
		return err, p.guard.hasEnded()
	case <-right.Lost:
		wasLost = true
	case <-ctx.Done():
	}
	stop()
	if p.guard != nil {
		_ = p.guard.allow(orderEnd, 0, killAfter) // a guard that is gone ends nothing
	}
	p.terminate()
	timer := time.NewTimer(killAfter)
	defer timer.Stop()
	select {
	case err = <-p.done:
		wasLost = wasLost || p.guard.hasEnded() // ctx may have ended while this process was stopped
		p.killRest(timer.C)
	case <-timer.C:
		p.kill()
		err = <-p.done
		wasLost = wasLost || p.guard.hasEnded()
	}
	return err, wasLost
}

// tellGuard tells the guard for how long the command may run yet, again and again until stop is called: the guard ends
// the command while this process is stopped. stop may be called twice.
func (p *Process) tellGuard(right Right, killAfter time.Duration) (stop func()) {
	if p.guard == nil || right.Remaining == nil {
		return func() {}
	}
	g, ended := p.guard, make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer close(ended)
		for {
			left := right.Remaining()
			if left <= 0 || g.allow(orderRun, left, killAfter) != nil {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(min(left/4, tellEvery)):
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// What a guard is told: the command may run for a while, or is being ended.
const (
	orderRun = "run"
	orderEnd = "end"
)

// tellEvery is how often the guard is told at least.
const tellEvery = time.Second

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
