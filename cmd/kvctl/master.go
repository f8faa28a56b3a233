package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

const transferPoll = 20 * time.Millisecond

func newMaster(a *app) *cobra.Command {
	return group(&cobra.Command{Use: "master", Short: "Show the master, or hand mastership to another node"},
		newMasterShow(a), newMasterTransfer(a))
}

// masterJSON is a master with --json.
type masterJSON struct {
	Master uint64 `json:"master"`
	Epoch  uint64 `json:"epoch"`
	Lease  int64  `json:"lease_ms"`
}

func masterOut(s client.Status) masterJSON { return masterJSON{s.Node, s.Epoch, s.Lease.RemainingMS} }

var errNoMaster = errors.New("no node says that it is master; see kvctl status")

// findMaster returns the status of the master.
func findMaster(ctx context.Context, c *client.Client) (client.Status, error) {
	s := takeSurvey(ctx, c)
	m, ok := s.master()
	switch {
	case s.unreachable() != nil:
		return m, s.unreachable()
	case !ok && s.vouched() != 0:
		return m, fmt.Errorf("the master is node %d, which has not answered here; see kvctl status", s.vouched())
	case !ok:
		return m, errNoMaster
	}
	return m, nil
}

func newMasterShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show which node is master",
		Args:  arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				m, err := findMaster(ctx, c)
				if err != nil {
					return err
				}
				return a.printf(masterOut(m), "node %d, epoch %d, lease %d ms left\n", m.Node, m.Epoch,
					m.Lease.RemainingMS)
			})
		},
	}
}

func newMasterTransfer(a *app) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "transfer",
		Short: "Hand mastership to another node",
		Long: "Ask the master to finish what is in flight and to hand over, to one node with --to, and wait until\n" +
			"another node is master. The old master keeps running. The exit code is 3 if the master was asked\n" +
			"and no other node has been seen to take over.",
		Example: "  kvctl master transfer\n  kvctl master transfer --to node-2",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("to") && to == "" {
				return usage("--to is empty: give the number or the name of a node; without --to the nodes choose")
			}
			if n, err := strconv.ParseUint(to, 10, 64); err == nil && n == 0 {
				return usage("--to 0: there is no node 0; without --to the nodes choose")
			}
			return a.change(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				node, err := successor(ctx, c, to)
				if err != nil {
					return err
				}
				return a.transfer(ctx, c, node)
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", "",
		"node that is to become master, by number or name (default: the nodes choose)")
	a.flagOfMembers(cmd, "to")
	return cmd
}

// successor returns the number of the node that --to names, 0 if it is empty. A number needs no list of the members,
// which a token may not be allowed to read.
func successor(ctx context.Context, c *client.Client, to string) (uint64, error) {
	if to == "" {
		return 0, nil
	}
	if n, err := strconv.ParseUint(to, 10, 64); err == nil {
		return n, nil
	}
	m, err := findMember(ctx, c, to)
	return m.Node, err
}

func (a *app) transfer(ctx context.Context, c *client.Client, to uint64) error {
	old, err := findMaster(ctx, c)
	if err != nil {
		return err
	}
	began := time.Now()
	if to != old.Node {
		if err := c.Nodes().Transfer(ctx, to); err != nil {
			return err
		}
	}
	now, err := awaitMaster(ctx, c, old, to)
	if err != nil {
		return err
	}
	took := time.Since(began)
	text := fmt.Sprintf("node %d -> node %d, epoch %d, took %s", old.Node, now.Node, now.Epoch, output.Duration(took))
	if now.Epoch == old.Epoch {
		text = fmt.Sprintf("node %d is master already, epoch %d", now.Node, now.Epoch)
	}
	err = a.printf(struct {
		From uint64 `json:"from"`
		To   uint64 `json:"to"`
		masterJSON
		Took int64 `json:"took_ms"`
	}{old.Node, now.Node, masterOut(now), took.Milliseconds()}, "%s\n", text)
	if err == nil && to != 0 && now.Node != to {
		return fmt.Errorf("node %d became master before node %d could; try again", now.Node, to)
	}
	return err
}

// awaitMaster waits for the mastership that a transfer from old leads to.
func awaitMaster(ctx context.Context, c *client.Client, old client.Status, want uint64) (m client.Status, err error) {
	err = poll(ctx, transferPoll, func() (done bool, err error) {
		m, done = takeSurvey(ctx, c).master()
		return done && handedOver(old, m, want), nil
	})
	if err != nil {
		err = fmt.Errorf(
			"the master was asked to hand over, and no other node has been seen to take over: %w: see kvctl status",
			client.ErrUnknown)
	}
	return m, err
}

// handedOver reports whether now is a mastership that a transfer from old to the node want, 0 for any, may end with. A
// new epoch of the old master is none: its transfer has failed.
func handedOver(old, now client.Status, want uint64) bool {
	if want == old.Node {
		return true
	}
	return now.Epoch > old.Epoch && now.Node != old.Node
}
