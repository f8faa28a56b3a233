//go:build !linux

package dev

import (
	"syscall"

	"tenure/internal/devcluster"
)

// childAttr puts the child into a process group of its own, so that Ctrl-C reaches the supervisor alone. A supervisor
// that is killed leaves its nodes running here.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// runs reports whether there is such a process.
func runs(_ string, _ devcluster.Node, pid int) bool { return pid > 0 && syscall.Kill(pid, 0) == nil }

func paused(string, devcluster.Node) bool { return false }
