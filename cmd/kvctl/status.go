package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
)

func newStatus(a *app) *cobra.Command {
	var watch bool
	var restart string
	interval := time.Second
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the nodes, who is master, and the master's lease",
		Long: "Ask all endpoints, and the other members that they name, and show what each node says about itself.\n" +
			"LEASE is exact on the node that holds the master lease and a hint (~) elsewhere. GUARDIAN is the\n" +
			"process that releases the node's lease if the node crashes. LAG is how many chosen slots the node\n" +
			"has not applied yet. Below the table stand the change of members that runs, and copies of the state\n" +
			"that are under way, and what is wrong with the nodes whose ROLE says \"see below\". The exit code is 1\n" +
			"if there is no master or no majority of the voters answers: then writes and default reads fail, and\n" +
			"reads with --stale work. It is 1 too if a node that answers does not work as it should, or if the\n" +
			"others refuse it. A master that answers the other nodes, but not kvctl, is no reason to fail.\n\n" +
			"With --watch, repeat this until interrupted, or until --timeout if that is given; the exit code is\n" +
			"that of the last state shown. Each change of master is marked with the time between the last\n" +
			"answer of the old master and the first answer of the new one, as seen from here. Nodes that have\n" +
			"not answered for a while are marked too: their rows may be out of date.\n\n" +
			"With --wait-safe-to-restart NODE, wait until the other voters would elect a master and renew named\n" +
			"leases without that node, at most for --timeout, and exit with 0 then, else with 1: for the step from\n" +
			"one node to the next of an upgrade.",
		Example: "  kvctl status\n  kvctl status --json || echo 'no master'\n  kvctl status --watch --timeout 30s\n" +
			"  kvctl status --wait-safe-to-restart 2 --timeout 2m && systemctl restart kvnode # on node 2",
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch && restart != "" {
				return usage("--watch does not go with --wait-safe-to-restart")
			}
			if restart != "" {
				return a.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
					return a.awaitRestart(ctx, c, restart)
				})
			}
			if interval < minInterval {
				return usage("--interval %v: must be at least %v", interval, minInterval)
			}
			if watch {
				c, err := a.client(cmd.Context())
				if err != nil {
					return err
				}
				w := newWatcher(a, c, interval)
				if cmd.Flags().Changed("timeout") {
					return w.runFor(cmd.Context(), a.timeout)
				}
				return w.run(cmd.Context())
			}
			return a.call(cmd.Context(), a.printStatus)
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "repeat, and mark each change of master")
	cmd.Flags().StringVar(&restart, "wait-safe-to-restart", "", "wait until the others go on without this `node`")
	a.flagOfMembers(cmd, "wait-safe-to-restart")
	durationVar(cmd.Flags(), &interval, "interval", interval, "with --watch, how often to print")
	a.timeoutFlag(cmd, "time limit (default 10s; with --watch, none)")
	return cmd
}

// printStatus asks the nodes once, and returns an error if not all is well.
func (a *app) printStatus(ctx context.Context, c *client.Client) error {
	s, list := takeMembers(ctx, c)
	if a.defaultEndpoints() {
		s = s.known(list)
	}
	out := s.json()
	if list.Node != 0 {
		out.Members = &list
	}
	if err := a.print(out, func(w io.Writer) error { return s.write(w, list) }); err != nil {
		return err
	}
	return s.complaint()
}

// surveyJSON is a survey as --json prints it.
type surveyJSON struct {
	Master uint64 `json:"master"` // 0: no node says that it is master
	Epoch  uint64 `json:"epoch"`
	Lease  int64  `json:"lease_ms"`
	// Problem tells why writes and default reads fail, if they do.
	Problem string     `json:"problem,omitempty"`
	Nodes   []nodeJSON `json:"nodes"`
	// Members are those that the cluster has, and the operations on them; absent if no node tells.
	Members *client.MemberList `json:"members,omitempty"`
}

type nodeJSON struct {
	Endpoint  string `json:"endpoint"`
	Reachable bool   `json:"reachable"`
	Error     string `json:"error,omitempty"`
	Lag       uint64 `json:"lag"`
	// with --watch: the node has not answered for so long, and Status is its last answer
	Old int64 `json:"old_ms,omitempty"`
	// Problem tells why the node does not work as it should, as it says itself, or why others refuse it.
	Problem string         `json:"problem,omitempty"`
	Status  *client.Status `json:"status,omitempty"`
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
			out.Nodes = append(out.Nodes, nodeJSON{Endpoint: n.endpoint, Error: n.whyNot()})
			continue
		}
		o := nodeJSON{Endpoint: n.endpoint, Reachable: true, Lag: s.lag(n), Problem: strings.Join(s.wrong(n), "; "),
			Status: &n.status}
		if n.old() {
			o.Old = n.age.Milliseconds()
		}
		out.Nodes = append(out.Nodes, o)
	}
	return out
}
