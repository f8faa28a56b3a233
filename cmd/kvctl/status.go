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
			"chosen slots a node has yet to apply. Exit code 1 if there is no master, or no majority of the nodes answers:\n" +
			"then writes and usual reads fail, and reads with --stale work.\n\n" +
			"With --watch it goes on until it is interrupted, or for as long as --timeout says if that is given; then the exit\n" +
			"code is that of the last picture. It marks each change of master with the time that passed between the last answer\n" +
			"of the old master and the first of the new one, as seen from here, and the rows of nodes that have not answered\n" +
			"since a while: what they say may be over.",
		Example: "  kvctl status\n  kvctl status --json || echo 'no master'\n  kvctl status --watch --timeout 30s",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval < minInterval {
				return usage("--interval %v: must be at least %v", interval, minInterval)
			}
			if watch {
				c, err := a.client()
				if err != nil {
					return err
				}
				w := newWatcher(a, c, interval)
				if cmd.Flags().Changed("timeout") {
					return w.runFor(cmd.Context(), a.timeout)
				}
				return w.run(cmd.Context())
			}
			return a.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				s := takeSurvey(ctx, c)
				if err := a.print(s.json(), func(w io.Writer) error { return s.write(w) }); err != nil {
					return err
				}
				return s.problem()
			})
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on, and mark each change of master")
	cmd.Flags().DurationVar(&interval, "interval", interval, "with --watch, how often to print")
	return cmd
}

// surveyJSON is a survey with --json.
type surveyJSON struct {
	Master uint64 `json:"master"` // 0: no node says that it is
	Epoch  uint64 `json:"epoch"`
	Lease  int64  `json:"lease_ms"`
	// Problem is why writes and usual reads fail, if they do.
	Problem string     `json:"problem,omitempty"`
	Nodes   []nodeJSON `json:"nodes"`
}

type nodeJSON struct {
	Endpoint  string         `json:"endpoint"`
	Reachable bool           `json:"reachable"`
	Error     string         `json:"error,omitempty"`
	Lag       uint64         `json:"lag"`
	Old       int64          `json:"old_ms,omitempty"` // with --watch: the node has been silent for so long, and this is its last word
	Status    *client.Status `json:"status,omitempty"`
}

func (s survey) json() surveyJSON {
	m, _ := s.master()
	problem := ""
	if err := s.problem(); err != nil {
		problem = err.Error()
	}
	out := surveyJSON{Problem: problem, Master: m.Node, Epoch: m.Epoch, Lease: m.Lease.RemainingMS, Nodes: []nodeJSON{}}
	for _, n := range s {
		if !n.answers() {
			out.Nodes = append(out.Nodes, nodeJSON{Endpoint: n.endpoint, Error: whyNot(n.err)})
			continue
		}
		o := nodeJSON{Endpoint: n.endpoint, Reachable: true, Lag: s.lag(n), Status: &n.status}
		if n.old() {
			o.Old = n.age.Milliseconds()
		}
		out.Nodes = append(out.Nodes, o)
	}
	return out
}
