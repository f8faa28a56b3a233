//go:build unix

// Package process starts nodes on this machine. It finds and signals the processes of a local cluster's nodes, and
// never any other.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tenure/internal/devcluster"
	"tenure/internal/procend"
)

const poll = 5 * time.Millisecond

// State is what a node's process is doing.
type State int

const (
	Gone State = iota
	Running
	Paused
	Ending // killed, and its port and its data are not free yet
)

// String returns the state for people.
func (s State) String() string {
	return [...]string{"not running", "running", "paused", "ending"}[s]
}

// Process is a node's process. handle names this very process, not its number: a signal through it cannot reach
// another process that was given the number since.
type Process struct {
	PID    int // 0 if gone
	State  State
	handle *os.Process
}

// Find looks for n's process. The handle is taken first and the identity looked at after, so they belong together. A
// process that is not the node that dev.json describes is never touched: the node is gone then.
func Find(s *devcluster.State, n devcluster.Node) Process {
	if n.PID <= 0 {
		return Process{}
	}
	handle, err := os.FindProcess(n.PID)
	if err != nil {
		return Process{}
	}
	state := Look(s, n)
	if state == Gone {
		return Process{}
	}
	return Process{n.PID, state, handle}
}

// Look returns what process number n.PID is doing, if it is n: same program, same arguments.
func Look(s *devcluster.State, n devcluster.Node) State {
	proc := fmt.Sprintf("/proc/%d/", n.PID)
	line, err := os.ReadFile(proc + "cmdline")
	if err != nil {
		return Gone
	}
	if len(line) == 0 { // of a zombie, or of a process that ends: it no longer shows whose it was
		return ended(n.PID)
	}
	args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	if !slices.Equal(args[1:], n.Args) || !slices.Contains(n.Args, n.Data) {
		return Gone
	}
	exe, err := os.Readlink(proc + "exe")
	if err != nil { // it has begun to end since
		return ended(n.PID)
	}
	if !sameFile(strings.TrimSuffix(exe, " (deleted)"), s.Binary) {
		return Gone
	}
	stat, err := os.ReadFile(proc + "stat")
	if err != nil {
		return Gone
	}
	// The state follows the program's name, which is in parentheses and may hold some itself.
	rest := stat[bytes.LastIndexByte(stat, ')')+1:]
	switch fields := bytes.Fields(rest); {
	case len(fields) == 0:
		return Gone
	case procend.Ending(n.PID):
		return Ending
	case fields[0][0] == 'Z' || fields[0][0] == 'X':
		return Gone
	case fields[0][0] == 'T':
		return Paused
	}
	return Running
}

// ended returns the state of a process that does not show whose it is.
func ended(pid int) State {
	if procend.Ending(pid) {
		return Ending
	}
	return Gone
}

// sameFile compares a resolved path with one that may lead through links. It compares names, since the program may have
// been replaced after the process started.
func sameFile(resolved, name string) bool {
	if resolved == name {
		return true
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(name))
	return err == nil && resolved == filepath.Join(dir, filepath.Base(name))
}

// Signal sends sig and waits until the process is as wanted.
func (p Process) Signal(ctx context.Context, s *devcluster.State, n devcluster.Node, sig syscall.Signal,
	want State) error {
	err := p.handle.Signal(sig)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("node %d (pid %d): %w", n.ID, p.PID, err)
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		got := Look(s, n)
		if got == want {
			return nil
		}
		if got == Gone {
			return fmt.Errorf("node %d (pid %d) has ended", n.ID, p.PID)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %d (pid %d) was sent %v and is still %v: %w", n.ID, p.PID, sig, got, ctx.Err())
		case <-tick.C:
		}
	}
}
