package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"tenure/internal/process"
)

// Node is one kvnode: its addresses and, while it runs, its process. It stands for a place: the data directory may be
// wiped, and a node with another number and name may take the place over.
type Node struct {
	ID           int    // of the place, and of the first node in it
	Client, Peer string // host:port
	Redis        string // the same for clients of Redis; "" without
	Data, Log    string
	Args         []string
	binary       string
	network      Network
	env          []string

	mu     sync.Mutex
	child  *process.Child // the last one; nil: none was started
	paused bool
	member int    // the number of the node in this place, as the cluster counts; 0: it has none yet
	name   string // of it
}

// Start starts the process; its output is appended to Log.
func (n *Node) Start() (err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.child.Running() {
		return fmt.Errorf("node %d runs already", n.ID)
	}
	argv := n.network.Command(n.ID, append([]string{n.binary}, n.Args...))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), n.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	n.paused = false
	n.child, err = process.Start(cmd, n.Log)
	return err
}

// Run makes binary the program that the next Start starts.
func (n *Node) Run(binary string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.binary = binary
}

// Running reports whether the process runs.
func (n *Node) Running() bool { return n.last().Running() }

// last returns the process that was started last, nil if none was.
func (n *Node) last() *process.Child {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.child
}

// Paused reports whether the process was stopped by Pause.
func (n *Node) Paused() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.paused && n.child.Running()
}

// Kill ends the process with SIGKILL and waits for its end.
func (n *Node) Kill() error { return n.end(syscall.SIGKILL, time.Minute) }

// Terminate asks the process to end and waits for up to grace; the error is its exit status, if that is not 0.
func (n *Node) Terminate(grace time.Duration) error { return n.end(syscall.SIGTERM, grace) }

// Pause stops the process with SIGSTOP, and returns when all its threads have stopped; Resume lets it go on.
func (n *Node) Pause() error {
	pid, err := n.suspend(syscall.SIGSTOP, true)
	if err != nil {
		return err
	}
	return awaitStopped(pid)
}

// Resume lets a paused process go on.
func (n *Node) Resume() error {
	_, err := n.suspend(syscall.SIGCONT, false)
	return err
}

// Wait waits for up to d for the process to end by itself, and returns its exit error.
func (n *Node) Wait(d time.Duration) error {
	child := n.last()
	if child == nil {
		return fmt.Errorf("node %d was never started", n.ID)
	}
	select {
	case <-child.Ended():
		return n.exited()
	case <-time.After(d):
		return fmt.Errorf("node %d still runs after %v", n.ID, d)
	}
}

func (n *Node) suspend(sig syscall.Signal, paused bool) (pid int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.child.Running() {
		return 0, fmt.Errorf("node %d does not run", n.ID)
	}
	n.paused = paused
	return n.child.PID, n.child.Signal(sig)
}

func (n *Node) end(sig syscall.Signal, wait time.Duration) error {
	child := n.last()
	if !child.Running() {
		return fmt.Errorf("node %d does not run", n.ID)
	}
	if err := child.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-child.Ended():
	case <-time.After(wait):
		return fmt.Errorf("node %d still runs %v after %v", n.ID, wait, sig)
	}
	if sig == syscall.SIGKILL {
		return nil
	}
	_, err := child.Result()
	return err
}

// terminate ends the process, with SIGKILL if need be.
func (n *Node) terminate(grace time.Duration) {
	if !n.Running() {
		return
	}
	_ = n.Resume()
	if n.Terminate(grace); n.Running() {
		_ = n.Kill()
	}
}

// exited returns how the last process ended: nil while one runs, or if it ended with status 0.
func (n *Node) exited() error {
	child := n.last()
	if child == nil || child.Running() {
		return nil
	}
	_, err := child.Result()
	return err
}

// PID returns the process id, or 0 if the node does not run.
func (n *Node) PID() int {
	if child := n.last(); child.Running() {
		return child.PID
	}
	return 0
}
