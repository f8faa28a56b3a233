//go:build !unix

package main

import (
	"io"
	"os/exec"
)

func terminalInput(io.Reader) bool { return false }

func (c *command) prepare() {}

func (c *command) terminate() { c.kill() }

func (c *command) kill() { _ = c.cmd.Process.Kill() }

func codeOf(e *exec.ExitError) int { return e.ExitCode() }
