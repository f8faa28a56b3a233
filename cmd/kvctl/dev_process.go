//go:build unix

package main

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

const processPoll = 5 * time.Millisecond

// processState is what a node's process is doing.
type processState int

const (
	gone processState = iota
	running
	paused
	ending // killed, and its port and its data are not free yet
)

// String is the word for people.
func (s processState) String() string {
	return [...]string{"not running", "running", "paused", "ending"}[s]
}

// process is a node's process. handle names this very process, not its number: a signal through it cannot reach
// another process that was given the number since.
type process struct {
	pid    int // 0 if gone
	state  processState
	handle *os.Process
}

// find looks for n's process. The handle is taken first and the identity looked at after, so they belong together. A
// process that is not the node that dev.json describes is nobody's business here: the node is gone then.
func find(s *devcluster.State, n devcluster.Node) process {
	if n.PID <= 0 {
		return process{}
	}
	handle, err := os.FindProcess(n.PID)
	if err != nil {
		return process{}
	}
	state := look(s, n)
	if state == gone {
		return process{}
	}
	return process{n.PID, state, handle}
}

// look tells what process number n.PID does, if it is n: same program, same arguments.
func look(s *devcluster.State, n devcluster.Node) processState {
	proc := fmt.Sprintf("/proc/%d/", n.PID)
	line, err := os.ReadFile(proc + "cmdline")
	if err != nil {
		return gone
	}
	if len(line) == 0 { // of a zombie, and of a process that ends: whose it was is not to be seen any more
		if procend.Ending(n.PID) {
			return ending
		}
		return gone
	}
	args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	if !slices.Equal(args[1:], n.Args) || !slices.Contains(n.Args, n.Data) {
		return gone
	}
	exe, err := os.Readlink(proc + "exe")
	if err != nil || !sameFile(strings.TrimSuffix(exe, " (deleted)"), s.Binary) {
		return gone
	}
	stat, err := os.ReadFile(proc + "stat")
	if err != nil {
		return gone
	}
	// The state follows the program's name, which is in parentheses and may hold some itself.
	rest := stat[bytes.LastIndexByte(stat, ')')+1:]
	switch fields := bytes.Fields(rest); {
	case len(fields) == 0:
		return gone
	case procend.Ending(n.PID):
		return ending
	case fields[0][0] == 'Z' || fields[0][0] == 'X':
		return gone
	case fields[0][0] == 'T':
		return paused
	}
	return running
}

// sameFile compares a resolved path with one that may lead through links. The program may have been replaced since
// the process started, so it is the names that are compared.
func sameFile(resolved, name string) bool {
	dir, err := filepath.EvalSymlinks(filepath.Dir(name))
	return err == nil && (resolved == name || resolved == filepath.Join(dir, filepath.Base(name)))
}

// signal sends sig and waits until the process is as wanted.
func (p process) signal(ctx context.Context, s *devcluster.State, n devcluster.Node, sig syscall.Signal, want processState) error {
	err := p.handle.Signal(sig)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("node %d (pid %d): %w", n.ID, p.pid, err)
	}
	tick := time.NewTicker(processPoll)
	defer tick.Stop()
	for {
		got := look(s, n)
		if got == want {
			return nil
		}
		if got == gone {
			return fmt.Errorf("node %d (pid %d) has ended", n.ID, p.pid)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %d (pid %d) was sent %v and is still %v: %w", n.ID, p.pid, sig, got, ctx.Err())
		case <-tick.C:
		}
	}
}
