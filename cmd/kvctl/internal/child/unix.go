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

// groups returns the process groups of the command: the guard's, and the one that the command leads if it has made
// itself another, as timeout and setsid do.
func (p *Process) groups() [2]int { return [2]int{p.guard.group(), p.cmd.Process.Pid} }

// killRest dismisses the guard, waits until nothing is left of the command's groups, and kills the rest when late
// arrives. The remaining processes may be zombies, which nobody waits for.
func (p *Process) killRest(late <-chan time.Time) {
	if !p.group {
		return
	}
	groups := p.groups()
	p.dismiss()
	tick := time.NewTicker(groupInterval)
	defer tick.Stop()
	for _, group := range groups {
		for syscall.Kill(-group, 0) == nil {
			select {
			case <-tick.C:
			case <-late:
				killAll(groups)
				return
			}
		}
	}
}

func killAll(groups [2]int) {
	for _, group := range groups {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

// signal signals the command and, if it was given a group, all that is in its groups; each once, since a second SIGTERM
// means more to many programs. A command that has ended is not an error.
func (p *Process) signal(s syscall.Signal) {
	if !p.group {
		_ = p.cmd.Process.Signal(s)
		return
	}
	for _, group := range p.groups() {
		_ = syscall.Kill(-group, s) // there need be no such group
	}
	if g, err := syscall.Getpgid(p.cmd.Process.Pid); err == nil && g != p.guard.group() && g != p.cmd.Process.Pid {
		_ = p.cmd.Process.Signal(s) // it has gone to a group of others
	}
}

// codeOf returns the exit code in a shell's manner.
func codeOf(e *exec.ExitError) int {
	if w, ok := e.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return e.ExitCode()
}
