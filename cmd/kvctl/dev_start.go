//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"tenure/client"
	"tenure/internal/devcluster"
	"tenure/internal/process"
)

const (
	startPoll = 50 * time.Millisecond
	endPoll   = 5 * time.Millisecond
)

func (d *dev) start(ctx context.Context, s *devcluster.State, n devcluster.Node, all bool) error {
	if all && process.Find(s, n).State != process.Gone {
		return nil
	}
	return d.startOne(ctx, n.ID)
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
		n.PID = c.PID
		return nil
	})
	if err != nil {
		return err
	}
	_, err = c.await(ctx, func(s client.Status) bool { return s.Node == uint64(id) })
	switch {
	case err != nil && ctx.Err() != nil:
		return d.done(c.node, c.PID, "started; it does not answer yet, see "+c.node.Log)
	case err != nil:
		return errors.Join(err, d.forget(context.WithoutCancel(ctx), id, c.PID))
	}
	return d.done(c.node, c.PID, "started, clients on "+c.node.Client)
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
	*process.Child
	node devcluster.Node
}

// launch starts the node in a session of its own, so that it outlives kvctl and its terminal.
func launch(binary string, n devcluster.Node) (startedNode, error) {
	cmd := exec.Command(binary, n.Args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c, err := process.Start(cmd, n.Log)
	if err != nil {
		return startedNode{}, fmt.Errorf("start node %d: %w", n.ID, err)
	}
	return startedNode{c, n}, nil
}

// await waits until is holds for the node's status, and returns the status. It fails if the node ends, or ctx does.
func (c startedNode) await(ctx context.Context, is func(client.Status) bool) (s client.Status, err error) {
	api, err := connect(c.node, client.Config{Endpoints: []string{c.node.Client}, NoLearning: true})
	if err != nil {
		return s, err
	}
	defer api.Close()
	err = poll(ctx, startPoll, func() (bool, error) {
		if s, err = api.Nodes().StatusOf(ctx, c.node.Client); err == nil && is(s) {
			return true, nil
		}
		if !c.Running() {
			return false, c.endedEarly()
		}
		return false, nil
	})
	return s, err
}

// endedEarly returns an error with the end of the node's log.
func (c startedNode) endedEarly() error {
	how := "exit code 0"
	if _, err := c.Result(); err != nil {
		how = err.Error()
	}
	text := fmt.Sprintf("node %d (pid %d) has ended at once: %s; the end of %s:", c.node.ID, c.PID, how, c.node.Log)
	for _, l := range c.LogTail() {
		text += "\n  | " + l
	}
	return errors.New(text)
}
