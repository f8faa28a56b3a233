//go:build unix

package child

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
)

// Endings returns the signals that end a program and can be caught, except those that its own doing brings, such as
// SIGPIPE. A signal that this process was started to ignore, as nohup has it, is not among them.
func Endings() []os.Signal {
	var all []os.Signal
	for _, s := range [...]os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1,
		syscall.SIGUSR2, syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGXCPU, syscall.SIGXFSZ} {
		if !signal.Ignored(s) {
			all = append(all, s)
		}
	}
	return all
}

// SurviveBrokenPipes makes a write to a pipe without a reader an error. It would end this process otherwise, and its
// command would go on. The signal is caught and not ignored: commands inherit what is ignored.
func SurviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// terminalInput reports whether a command reads from a terminal.
func terminalInput(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (p *Process) prepare() {
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: p.group}
	if p.group {
		p.cmd.SysProcAttr.Pgid = p.guard.group()
	}
	endWithParent(p.cmd.SysProcAttr)
}

func (p *Process) terminate() { p.signal(syscall.SIGTERM) }

func (p *Process) kill() { p.signal(syscall.SIGKILL) }

// killRest dismisses the guard, waits until nothing is left of the command's group, and kills the rest when late
// arrives. What is left may be zombies for which nobody waits.
func (p *Process) killRest(late <-chan time.Time) {
	if !p.group {
		return
	}
	group := p.guard.group()
	p.dismiss()
	tick := time.NewTicker(groupInterval)
	defer tick.Stop()
	for syscall.Kill(-group, 0) == nil {
		select {
		case <-tick.C:
		case <-late:
			_ = syscall.Kill(-group, syscall.SIGKILL)
			return
		}
	}
}

// signal signals the command and the rest of its group, if it has one. A command that has ended is not an error.
func (p *Process) signal(s syscall.Signal) {
	if p.group {
		_ = syscall.Kill(-p.guard.group(), s)
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
