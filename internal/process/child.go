//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"

	"tenure/internal/devcluster"
	"tenure/internal/ownfile"
)

// Child is a node's process that this program has started. Its methods are safe for concurrent use.
type Child struct {
	PID     int
	log     string
	logFrom int64 // where its part of the log begins
	cmd     *exec.Cmd
	ended   chan struct{}
	err     error // after ended: as exec.Cmd.Wait returned it
}

// Start starts cmd with its output appended to the file log.
func Start(cmd *exec.Cmd, log string) (*Child, error) {
	out, err := ownfile.Open(log, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the child has its own
	c := &Child{log: log, cmd: cmd, ended: make(chan struct{})}
	if info, err := out.Stat(); err == nil {
		c.logFrom = info.Size()
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c.PID = cmd.Process.Pid
	go func() {
		c.err = cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

// Ended is closed when the process has ended.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// Running reports whether the process has not ended. That of a nil Child has.
func (c *Child) Running() bool {
	if c == nil {
		return false
	}
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// Result waits for the end of the process and returns how it ended: the error is nil after exit code 0.
func (c *Child) Result() (*os.ProcessState, error) {
	<-c.ended
	return c.cmd.ProcessState, c.err
}

// Signal sends sig, which never reaches another process. After the end the error is os.ErrProcessDone.
func (c *Child) Signal(sig syscall.Signal) error { return c.cmd.Process.Signal(sig) }

// LogTail returns the last few lines that the process has written.
func (c *Child) LogTail() []string { return devcluster.LogTail(c.log, c.logFrom) }
