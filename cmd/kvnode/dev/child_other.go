//go:build !linux

package dev

import "syscall"

// childAttr puts the child into a process group of its own, so that Ctrl-C reaches the supervisor alone. A supervisor
// that is killed leaves its nodes running here.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// runs tells whether there is such a process.
func (n Node) runs(pid int) bool { return pid > 0 && syscall.Kill(pid, 0) == nil }

func paused(int) bool { return false }
