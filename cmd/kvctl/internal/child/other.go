//go:build !unix

package child

import (
	"io"
	"os/exec"
)

func terminalInput(io.Reader) bool { return false }

func (p *Process) prepare() {}

func (p *Process) terminate() { p.kill() }

func (p *Process) kill() { _ = p.cmd.Process.Kill() }

func codeOf(e *exec.ExitError) int { return e.ExitCode() }
