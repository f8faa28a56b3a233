//go:build unix

package child

import (
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/term"
)

// terminalInput reports whether a command reads from a terminal.
func terminalInput(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (p *Process) prepare() {
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: p.group}
	endWithParent(p.cmd.SysProcAttr)
}

func (p *Process) terminate() { p.signal(syscall.SIGTERM) }

func (p *Process) kill() { p.signal(syscall.SIGKILL) }

// signal signals the command, and its group if it has one. A command that has ended is not an error.
func (p *Process) signal(s syscall.Signal) {
	if p.group {
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
		return
	}
	_ = p.cmd.Process.Signal(s)
}

// codeOf returns the exit code in a shell's manner.
func codeOf(e *exec.ExitError) int {
	if w, ok := e.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return e.ExitCode()
}
