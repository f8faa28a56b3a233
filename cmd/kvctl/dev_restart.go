//go:build unix

package main

import (
	"context"
	"fmt"
	"syscall"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/internal/devcluster"
	"tenure/internal/process"
)

func (d *dev) newRestart() *cobra.Command {
	cmd := d.onNodes("restart", "Stop nodes in order and start them again, one after the other", d.restart)
	cmd.Long = "Stop each node with SIGTERM, start it again, and wait until it is ready before the next one is\n" +
		"stopped."
	d.app.timeoutFlag(cmd, "time limit for each node (default 10s)")
	return cmd
}

// restart stops nodes and starts them again, one after the other, so that a majority runs all the time.
func (d *dev) restart(cmd *cobra.Command, args []string) error {
	s, nodes, err := d.choose(cmd.Context(), args)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if err := d.restartOne(cmd.Context(), s, n, len(nodes) > 1); err != nil {
			return err
		}
	}
	return nil
}

// restartOne restarts one node. A node that does not run is only started. If others follow, it waits until the node is
// ready.
func (d *dev) restartOne(ctx context.Context, s *devcluster.State, n devcluster.Node, others bool) error {
	ctx, cancel := context.WithTimeout(ctx, d.app.timeout)
	defer cancel()
	if p := process.Find(s, n); p.State == process.Running || p.State == process.Paused {
		if err := d.signalOne(ctx, s, n, p, syscall.SIGTERM); err != nil {
			return err
		}
	}
	if err := d.startOne(ctx, n.ID); err != nil || !others {
		return err
	}
	return awaitReady(ctx, n)
}

// awaitReady waits until a node knows a master: to stop another one before could leave no majority.
func awaitReady(ctx context.Context, n devcluster.Node) error {
	c, err := connect(n, client.Config{Endpoints: []string{n.Client}, NoLearning: true})
	if err != nil {
		return err
	}
	defer c.Close()
	err = poll(ctx, startPoll, func() (bool, error) {
		s, err := c.Nodes().StatusOf(ctx, n.Client)
		return err == nil && s.Master != 0, nil
	})
	if err != nil {
		return fmt.Errorf("node %d was started and knows of no master yet: %w; see kvctl dev logs %d", n.ID, err, n.ID)
	}
	return nil
}
