//go:build unix

package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/process"
	"tenure/internal/devcluster"
)

// restart stops nodes and starts them again, one after the other, so that a majority is there all the time.
func (d *dev) restart(cmd *cobra.Command, args []string) error {
	s, err := devcluster.Read(d.data)
	if err != nil {
		return err
	}
	nodes, err := d.nodesOf(cmd.Context(), s, args)
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

// restartOne has as long for one node as --timeout says. A node that does not run is only started.
func (d *dev) restartOne(ctx context.Context, s *devcluster.State, n devcluster.Node, others bool) error {
	ctx, cancel := context.WithTimeout(ctx, d.app.timeout)
	defer cancel()
	switch p := process.Find(s, n); p.State {
	case process.Paused:
		return fmt.Errorf("node %d is paused and cannot stop in order; let it go on first: %s", n.ID, d.hint("resume", n.ID))
	case process.Running:
		if err := p.Signal(ctx, s, n, syscall.SIGTERM, process.Gone); err != nil {
			return err
		}
		if err := d.done(n, p.PID, "stopped"); err != nil {
			return err
		}
		if err := d.forget(ctx, n.ID, p.PID); err != nil {
			return err
		}
	}
	if err := d.startOne(ctx, n.ID); err != nil || !others {
		return err
	}
	return awaitReady(ctx, n)
}

// awaitReady waits until a node knows a master: before, to stop another one could leave no majority.
func awaitReady(ctx context.Context, n devcluster.Node) error {
	c, err := client.New(client.Config{Endpoints: []string{n.Client}})
	if err != nil {
		return fmt.Errorf("%s: %w", devcluster.StateName, err)
	}
	defer c.Close()
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	for {
		if s, err := c.Nodes().StatusOf(ctx, n.Client); err == nil && s.Master != 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %d was started and knows of no master yet: %w; see kvctl dev logs %d", n.ID, ctx.Err(), n.ID)
		case <-tick.C:
		}
	}
}
