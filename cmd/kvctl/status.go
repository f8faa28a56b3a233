package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
)

func newStatus(a *app) *cobra.Command {
	var watch bool
	interval := time.Second
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show every node, who is master and how long its lease lasts",
		Long: "status asks all endpoints and shows what each says of itself. LEASE is exact on the node that holds it, and a\n" +
			"hint (~) elsewhere. GUARDIAN is the process that releases the node's lease if the node crashes. LAG is how many\n" +
			"chosen slots a node has yet to apply. Exit code 1 if no node answers.\n\n" +
			"With --watch it goes on until it is interrupted, and marks each change of master with the time that passed\n" +
			"between the last answer of the old master and the first of the new one, as seen from here.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval < minInterval {
				return usage("--interval %v: must be at least %v", interval, minInterval)
			}
			if watch {
				c, err := a.client()
				if err != nil {
					return err
				}
				return newWatcher(a, c, interval).run(cmd.Context())
			}
			return a.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				s := takeSurvey(ctx, c)
				if err := a.print(s.json(), func(w io.Writer) error { return s.write(w) }); err != nil {
					return err
				}
				if s.answering() == 0 {
					return errQuiet
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on, and mark each change of master")
	cmd.Flags().DurationVar(&interval, "interval", interval, "with --watch, how often to print")
	return cmd
}

// surveyJSON is a survey with --json.
type surveyJSON struct {
	Master uint64     `json:"master"` // 0: no node says that it is
	Epoch  uint64     `json:"epoch"`
	Lease  int64      `json:"lease_ms"`
	Nodes  []nodeJSON `json:"nodes"`
}

type nodeJSON struct {
	Endpoint  string         `json:"endpoint"`
	Reachable bool           `json:"reachable"`
	Error     string         `json:"error,omitempty"`
	Lag       uint64         `json:"lag"`
	Status    *client.Status `json:"status,omitempty"`
}

func (s survey) json() surveyJSON {
	m, _ := s.master()
	out := surveyJSON{Master: m.Node, Epoch: m.Epoch, Lease: m.Lease.RemainingMS, Nodes: []nodeJSON{}}
	for _, n := range s {
		if !n.answers() {
			out.Nodes = append(out.Nodes, nodeJSON{Endpoint: n.endpoint, Error: whyNot(n.err)})
			continue
		}
		out.Nodes = append(out.Nodes, nodeJSON{Endpoint: n.endpoint, Reachable: true, Lag: s.lag(n), Status: &n.status})
	}
	return out
}
