package dev

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"tenure/internal/devcluster"
	"tenure/internal/ownfile"
	"tenure/internal/process"
)

const maxLogBytes = 16 << 20 // a longer log is renamed when its node starts

// exit is the end of a child.
type exit struct {
	data string // of the node
	pid  int
	how  string // "exit code 1", "killed (signal 9)"
}

// start runs a node and sends its exit to exits. It is called on the supervisor's thread only.
func start(binary string, n devcluster.Node, exits chan<- exit) (*process.Child, error) {
	if info, err := os.Stat(n.Log); err == nil && info.Size() > maxLogBytes {
		if err := os.Rename(n.Log, n.Log+".1"); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(binary, n.Args...)
	cmd.SysProcAttr = childAttr()
	c, err := process.Start(cmd, n.Log)
	if err != nil {
		return nil, fmt.Errorf("start node %d: %w", n.ID, err)
	}
	go func() {
		how, _ := c.Result() // how it ended is all in the state
		exits <- exit{data: n.Data, pid: c.PID, how: ending(how)}
	}()
	return c, nil
}

func ending(s *os.ProcessState) string {
	w, ok := s.Sys().(syscall.WaitStatus)
	if ok && w.Signaled() {
		return fmt.Sprintf("%v (signal %d)", w.Signal(), int(w.Signal()))
	}
	return fmt.Sprintf("exit code %d", s.ExitCode())
}

// copyBinary copies the program into the directory: that of `go run` is deleted, and kvctl starts nodes later.
func copyBinary(from, dir string) (string, error) {
	to := filepath.Join(dir, binaryName)
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := ownfile.CreateMode(to+".tmp", os.O_WRONLY, 0o700)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	if e := out.Close(); err == nil {
		err = e
	}
	if err != nil {
		return "", fmt.Errorf("copy the program to %s: %w", to, err)
	}
	return to, os.Rename(to+".tmp", to)
}
