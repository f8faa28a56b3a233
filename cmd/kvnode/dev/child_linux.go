package dev

import (
	"syscall"

	"tenure/internal/devcluster"
	"tenure/internal/process"
)

// childAttr puts the child into a process group of its own, so that Ctrl-C reaches the supervisor alone, and has the
// kernel kill it when the supervisor's thread ends.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// runs reports whether the process is this node, and not another that got its number. A process that is ending runs:
// its ports and its data are not free yet.
func runs(binary string, n devcluster.Node, pid int) bool {
	return look(binary, n, pid) != process.Gone
}

// paused tells whether the process has been stopped by a signal.
func paused(binary string, n devcluster.Node) bool { return look(binary, n, n.PID) == process.Paused }

func look(binary string, n devcluster.Node, pid int) process.State {
	n.PID = pid
	return process.Look(&devcluster.State{Binary: binary}, n)
}
