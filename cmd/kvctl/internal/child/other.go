//go:build !unix

package child

import (
	"io"
	"os"
	"os/exec"
	"time"
)

// Endings returns the signals that end a program and can be caught.
func Endings() []os.Signal { return []os.Signal{os.Interrupt} }

// SurviveBrokenPipes does nothing: there is no signal for them.
func SurviveBrokenPipes() {}

func terminalInput(io.Reader) bool { return false }

func (p *Process) prepare() {}

func (p *Process) terminate() { p.kill() }

func (p *Process) kill() { _ = p.cmd.Process.Kill() }

func (p *Process) killRest(<-chan time.Time) {}

func codeOf(e *exec.ExitError) int { return e.ExitCode() }

// launch does nothing: without process groups a command is started at once.
type launch struct{}

func newLaunch(*exec.Cmd) (*launch, error) { return &launch{}, nil }

func (*launch) started() {}

func (*launch) close() {}

func (*launch) release() error { return nil }

// Launch returns at once.
func Launch([]string) int { return 0 }

// guard does nothing: there are no process groups.
type guard struct{}

func startGuard() (*guard, error) { return &guard{}, nil }

func (*guard) watch(int) error { return nil }

func (*guard) allow(string, time.Duration, time.Duration) error { return nil }

func (*guard) hasEnded() bool { return false }

func (*guard) dismiss() {}

// Guard returns at once.
func Guard(io.Reader, io.Writer) int { return 0 }
