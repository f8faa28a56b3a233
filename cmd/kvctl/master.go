package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

const transferPoll = 20 * time.Millisecond

func newMaster(a *app) *cobra.Command {
	return group(&cobra.Command{Use: "master", Short: "Show the master, or have it hand over"}, newMasterShow(a), newMasterTransfer(a))
}

// masterJSON is a master with --json.
type masterJSON struct {
	Master uint64 `json:"master"`
	Epoch  uint64 `json:"epoch"`
	Lease  int64  `json:"lease_ms"`
}

var errNoMaster = errors.New("no node says that it is master; see kvctl status")

func newMasterShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Say who is master",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				s := takeSurvey(ctx, c)
				m, ok := s.master()
				if s.refused() {
					return client.ErrRefused
				}
				if !ok {
					return errNoMaster
				}
				return a.print(masterJSON{m.Node, m.Epoch, m.Lease.RemainingMS}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "node %d, epoch %d, lease %d ms left\n", m.Node, m.Epoch, m.Lease.RemainingMS)
					return err
				})
			})
		},
	}
}

func newMasterTransfer(a *app) *cobra.Command {
	var to uint64
	cmd := &cobra.Command{
		Use:   "transfer",
		Short: "Have the master hand over and stay up",
		Long: "transfer has the master finish what is in flight and hand over, to node N with --to N, and waits until another\n" +
			"is master. Exit code 3 if it was asked to, and nobody has been seen to take over.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("to") && to == 0 {
				return usage("--to 0: there is no node 0; leave --to out to let the nodes choose")
			}
			return a.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				return a.transfer(ctx, c, to)
			})
		},
	}
	cmd.Flags().Uint64Var(&to, "to", 0, "id of the node that should become master")
	return cmd
}

func (a *app) transfer(ctx context.Context, c *client.Client, to uint64) error {
	s := takeSurvey(ctx, c)
	old, ok := s.master()
	if s.refused() {
		return client.ErrRefused
	}
	if !ok {
		return errNoMaster
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
	err = a.print(struct {
		From uint64 `json:"from"`
		To   uint64 `json:"to"`
		masterJSON
		Took int64 `json:"took_ms"`
	}{old.Node, now.Node, masterJSON{now.Node, now.Epoch, now.Lease.RemainingMS}, took.Milliseconds()}, func(w io.Writer) error {
		if now.Epoch == old.Epoch {
			_, err := fmt.Fprintf(w, "node %d is master already, epoch %d\n", now.Node, now.Epoch)
			return err
		}
		_, err := fmt.Fprintf(w, "node %d -> node %d, epoch %d, took %s\n", old.Node, now.Node, now.Epoch, output.Duration(took))
		return err
	})
	if err == nil && to != 0 && now.Node != to {
		return fmt.Errorf("node %d became master instead of node %d: it was the quicker; try again", now.Node, to)
	}
	return err
}

// awaitMaster waits for a mastership after old, or for old itself if it is the one wanted.
func awaitMaster(ctx context.Context, c *client.Client, old client.Status, want uint64) (client.Status, error) {
	tick := time.NewTicker(transferPoll)
	defer tick.Stop()
	for {
		m, ok := takeSurvey(ctx, c).master()
		if ok && (m.Epoch > old.Epoch || want == old.Node) {
			return m, nil
		}
		select {
		case <-ctx.Done():
			return m, fmt.Errorf("the master was asked to hand over, and nobody has been seen to take over: %w: see kvctl status", client.ErrUnknown)
		case <-tick.C:
		}
	}
}
