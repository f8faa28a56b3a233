//go:build unix

package child

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// guard is the process that leads a command's process group. It kills the group when kvctl is gone without having ended
// the command, as after SIGKILL, and ends it when kvctl has been stopped for too long. The guard makes the group before
// the command starts, so the guard always knows the group to kill.
type guard struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser // its other end is the guard's standard input
	says *os.File       // its other end is the guard's standard output
}

// startGuard starts a guard and waits until no signal but SIGKILL can end it.
func startGuard() (*guard, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, GuardCommand)
	cmd.Env = []string{"GOMAXPROCS=1", "GOTRACEBACK=none"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	says, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	cmd.Stdout = out
	err = cmd.Start()
	out.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the guard of the command: %w", err), says.Close())
	}
	g := &guard{cmd, pipe, says}
	if _, err := says.Read(make([]byte, 1)); err != nil {
		g.dismiss()
		return nil, fmt.Errorf("the guard of the command has ended: %w", err)
	}
	return g, nil
}

// group returns the number of the process group.
func (g *guard) group() int { return g.cmd.Process.Pid }

// watch tells the guard the command, which may lead a group of its own.
func (g *guard) watch(command int) error {
	_, err := fmt.Fprintln(g.pipe, command)
	return err
}

// allow gives the guard an order: the command may run for that long, or is being ended, for which it has killAfter.
func (g *guard) allow(order string, left, killAfter time.Duration) error {
	_, err := fmt.Fprintln(g.pipe, order, left.Nanoseconds(), killAfter.Nanoseconds())
	return err
}

// hasEnded reports whether the guard has begun to end the command. A nil guard has not.
func (g *guard) hasEnded() bool {
	if g == nil {
		return false
	}
	said, err := g.says.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	_ = said.Read(func(fd uintptr) bool { // once: what was written before the command ended is there
		n, _ = syscall.Read(int(fd), make([]byte, 1))
		return true
	})
	return n > 0
}

// dismiss ends the guard, which then kills nothing.
func (g *guard) dismiss() {
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait() // it was killed
	g.says.Close()
}

// Guard is the whole life of a guard, for a program whose only argument is GuardCommand. kvctl writes its orders to in,
// which is closed when kvctl has ended. The guard writes a byte to out when it is ready, and another one before it ends
// the command. It returns the exit code, if it was not run by kvctl.
func Guard(in io.Reader, out io.Writer) int {
	if syscall.Getpgrp() != os.Getpid() {
		fmt.Fprintln(os.Stderr, "kvctl: "+GuardCommand+" is run by kvctl itself")
		return 2
	}
	signal.Ignore()
	if _, err := out.Write([]byte{1}); err != nil {
		return 1
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}()
	c := guarded{out: out}
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				c.signal(syscall.SIGKILL) // this process too
				return 1
			}
			c.take(line)
		case <-c.late:
			c.end()
		}
	}
}

// stoppedFor is how much later than kvctl the guard acts: it does so only if kvctl cannot.
const stoppedFor = 100 * time.Millisecond

// guarded is what a guard knows of its command.
type guarded struct {
	out        io.Writer        // to kvctl
	command    int              // its process, 0 before it is known
	late       <-chan time.Time // when end is to be called; nil: never
	terminated bool             // it is being ended
	killAfter  time.Duration
}

// take takes a line from kvctl: the number of the command, or an order.
func (c *guarded) take(line string) {
	var order string
	var left time.Duration
	if n, _ := fmt.Sscan(line, &order, (*int64)(&left), (*int64)(&c.killAfter)); n < 3 {
		c.command, _ = strconv.Atoi(line)
		return
	}
	if c.terminated = order == orderEnd; c.terminated {
		left = c.killAfter
	}
	c.late = time.After(left + stoppedFor)
}

// end terminates the command, or kills it if that was done before.
func (c *guarded) end() {
	if c.terminated {
		c.signal(syscall.SIGKILL)
		return
	}
	_, _ = c.out.Write([]byte{1}) // if kvctl is gone, it has no use for it
	c.signal(syscall.SIGTERM)
	c.terminated, c.late = true, time.After(c.killAfter)
}

// signal signals the group of the command, if it has one of its own, and that of the guard.
func (c *guarded) signal(s syscall.Signal) {
	if c.command > 1 {
		_ = syscall.Kill(-c.command, s) // there need be no such group
	}
	_ = syscall.Kill(0, s)
}
