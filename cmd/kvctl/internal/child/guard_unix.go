//go:build unix

package child

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// guard is the process that leads a command's process group. It kills the group when kvctl is gone without having ended
// the command, as after SIGKILL. The group is there before the command, so there is no moment at which the guard does
// not know whom to kill.
type guard struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser // its other end is the guard's standard input
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
	ready, err := cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard of the command: %w", err)
	}
	g := &guard{cmd, pipe}
	if _, err := ready.Read(make([]byte, 1)); err != nil {
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

// dismiss ends the guard, which then kills nothing.
func (g *guard) dismiss() {
	_ = g.cmd.Process.Kill()
	_ = g.cmd.Wait() // it was killed
}

// Guard is the whole life of a guard, for a program whose only argument is GuardCommand: in is closed when kvctl has
// ended, and a byte on out says that the guard is ready. It returns the exit code, if it was not run by kvctl.
func Guard(in io.Reader, out io.Writer) int {
	if syscall.Getpgrp() != os.Getpid() {
		fmt.Fprintln(os.Stderr, "kvctl: "+GuardCommand+" is run by kvctl itself")
		return 2
	}
	signal.Ignore()
	if _, err := out.Write([]byte{1}); err != nil {
		return 1
	}
	text, _ := io.ReadAll(in)
	if command, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && command > 1 {
		_ = syscall.Kill(-command, syscall.SIGKILL)
	}
	_ = syscall.Kill(0, syscall.SIGKILL) // this process too
	return 1
}
