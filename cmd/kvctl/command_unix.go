//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/term"
)

// terminalInput tells whether a command reads from a terminal.
func terminalInput(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (c *command) prepare() {
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: c.group}
	endWithParent(c.cmd.SysProcAttr)
}

func (c *command) terminate() { c.signal(syscall.SIGTERM) }

func (c *command) kill() { c.signal(syscall.SIGKILL) }

// signal reaches the command, and its group if it has one. That it has ended already is no error.
func (c *command) signal(s syscall.Signal) {
	if c.group {
		_ = syscall.Kill(-c.cmd.Process.Pid, s)
		return
	}
	_ = c.cmd.Process.Signal(s)
}

// codeOf is the exit code as a shell has it.
func codeOf(e *exec.ExitError) int {
	if w, ok := e.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return e.ExitCode()
}
