//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/process"
	"tenure/internal/devcluster"
	"tenure/internal/ownfile"
)

const (
	startPoll = 50 * time.Millisecond
	endPoll   = 5 * time.Millisecond
)

func (d *dev) start(cmd *cobra.Command, args []string) error {
	s, nodes, err := d.choose(cmd.Context(), args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), d.app.timeout)
	defer cancel()
	for _, n := range nodes {
		if args[0] == "all" && process.Find(s, n).State != process.Gone {
			continue
		}
		if err := d.startOne(ctx, n.ID); err != nil {
			return err
		}
	}
	return nil
}

// startOne starts a node, records its process and waits until it answers, ends, or ctx does.
func (d *dev) startOne(ctx context.Context, id int) error {
	if err := d.awaitEnd(ctx, id); err != nil {
		return err
	}
	var c startedNode
	err := devcluster.Update(ctx, d.data, func(s *devcluster.State) error {
		n := s.Node(id)
		if n == nil {
			return fmt.Errorf("node %d is no longer in %s", id, devcluster.StateName)
		}
		if p := process.Find(s, *n); p.State != process.Gone {
			return fmt.Errorf("node %d is %v already (pid %d)", id, p.State, p.PID)
		}
		var err error
		if c, err = launch(s.Binary, *n); err != nil {
			return err
		}
		n.PID = c.pid
		return nil
	})
	if err != nil {
		return err
	}
	answers, err := c.await(ctx)
	if err != nil {
		return errors.Join(err, d.forget(context.WithoutCancel(ctx), id, c.pid))
	}
	if !answers {
		return d.done(c.node, c.pid, "started; it does not answer yet, see "+c.node.Log)
	}
	return d.done(c.node, c.pid, "started, clients on "+c.node.Client)
}

// awaitEnd waits until a killed process of the node is gone with all its files: until then its ports and its data are
// taken.
func (d *dev) awaitEnd(ctx context.Context, id int) error {
	pid := 0
	err := poll(ctx, endPoll, func() (bool, error) {
		s, err := devcluster.Read(d.data)
		if err != nil {
			return false, err
		}
		n := s.Node(id)
		if n == nil {
			return true, nil
		}
		pid = n.PID
		return process.Look(s, *n) != process.Ending, nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("node %d (pid %d) was killed and is still ending: its ports and its data are not free yet; "+
			"try again",
			id, pid)
	}
	return err
}

// startedNode is a node that this process has started, and that goes on when it ends.
type startedNode struct {
	node    devcluster.Node
	pid     int
	logFrom int64 // where its part of the log begins
	ended   chan error
}

// launch starts the node in a session of its own, so that it outlives kvctl and its terminal.
func launch(binary string, n devcluster.Node) (startedNode, error) {
	log, err := ownfile.Open(n.Log, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return startedNode{}, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	c := startedNode{node: n, ended: make(chan error, 1)}
	if info, err := log.Stat(); err == nil {
		c.logFrom = info.Size()
	}
	cmd := exec.Command(binary, n.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return startedNode{}, fmt.Errorf("start node %d: %w", n.ID, err)
	}
	c.pid = cmd.Process.Pid
	go func() { c.ended <- cmd.Wait() }()
	return c, nil
}

// await reports whether the node answers before ctx ends. It fails if the node ends.
func (c startedNode) await(ctx context.Context) (answers bool, err error) {
	api, err := client.New(reaching(c.node, client.Config{Endpoints: []string{c.node.Client}, NoLearning: true}))
	if err != nil {
		return false, fmt.Errorf("%s: %w", devcluster.StateName, err)
	}
	defer api.Close()
	err = poll(ctx, startPoll, func() (bool, error) {
		if s, err := api.Nodes().StatusOf(ctx, c.node.Client); err == nil && s.Node == uint64(c.node.ID) {
			answers = true
			return true, nil
		}
		select {
		case err := <-c.ended:
			return false, c.endedEarly(err)
		default:
			return false, nil
		}
	})
	if err != nil && ctx.Err() != nil {
		return false, nil
	}
	return answers, err
}

// endedEarly returns an error with the end of the node's log.
func (c startedNode) endedEarly(err error) error {
	how := "exit code 0"
	if err != nil {
		how = err.Error()
	}
	text := fmt.Sprintf("node %d (pid %d) has ended at once: %s; the end of %s:", c.node.ID, c.pid, how, c.node.Log)
	for _, l := range devcluster.LogTail(c.node.Log, c.logFrom) {
		text += "\n  | " + l
	}
	return errors.New(text)
}
