package dev

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"tenure/internal/devcluster"
	"tenure/internal/procend"
)

// childAttr puts the child into a process group of its own, so that Ctrl-C reaches the supervisor alone, and has the
// kernel kill it when the supervisor's thread ends.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// runs reports whether the process is this node, and not another that got its number. A zombie does not run, but a
// process that is ending does: its ports and its data are not free yet. Whose it was is not to be seen any more.
func runs(n devcluster.Node, pid int) bool {
	if pid <= 0 {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	if len(b) == 0 {
		return procend.Ending(pid)
	}
	args := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	return len(args) > 0 && slices.Equal(args[1:], n.Args)
}

// paused tells whether the process has been stopped by a signal.
func paused(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, ok := bytes.Cut(b, []byte(") ")) // the state follows the program's name
	return ok && len(rest) > 0 && rest[0] == 'T'
}
