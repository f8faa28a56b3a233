//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/process"
	"tenure/internal/devcluster"
)

func newDev(a *app) *cobra.Command {
	d := &dev{app: a}
	cmd := group(&cobra.Command{
		Use:   "dev",
		Short: "Stop, kill, pause and start the nodes of a local cluster (kvnode dev)",
		Long: "dev works on the processes of a cluster that kvnode dev has started on this machine, which it finds through the\n" +
			"cluster's data directory. A process is signalled only if it is still the node that is written down there.\n" +
			"In place of a node's number, the word master stands for the node that is master, and all for every node.",
		Example: "  kvctl dev kill master\n  kvctl dev start 2\n  kvctl dev restart all\n  kvctl dev logs 1 2 --follow",
	},
		&cobra.Command{Use: "status", Short: "List the nodes and their processes", Args: cobra.NoArgs, RunE: d.status},
		&cobra.Command{Use: "kill N...", Short: "Kill nodes with SIGKILL", Args: cobra.MinimumNArgs(1), RunE: d.signal(syscall.SIGKILL)},
		&cobra.Command{Use: "pause N...", Short: "Pause nodes with SIGSTOP", Args: cobra.MinimumNArgs(1), RunE: d.signal(syscall.SIGSTOP)},
		&cobra.Command{Use: "resume N...", Short: "Let paused nodes go on with SIGCONT", Args: cobra.MinimumNArgs(1), RunE: d.signal(syscall.SIGCONT)},
		&cobra.Command{Use: "start N...", Short: "Start nodes again", Args: cobra.MinimumNArgs(1), RunE: d.start},
		&cobra.Command{Use: "stop N...", Short: "Stop nodes in order with SIGTERM: the master hands over first", Args: cobra.MinimumNArgs(1), RunE: d.signal(syscall.SIGTERM)},
		&cobra.Command{
			Use: "restart N...", Short: "Stop nodes in order and start them again, one after the other", Args: cobra.MinimumNArgs(1), RunE: d.restart,
			Long: "restart stops each node with SIGTERM, starts it again, and waits until it is ready before it goes on to the next.",
		},
		newDevLogs(d),
		&cobra.Command{Use: "master", Short: "Print the number of the master", Args: cobra.NoArgs, RunE: d.master},
	)
	for _, c := range cmd.Commands() {
		if strings.Contains(c.Use, "N...") {
			c.ValidArgsFunction = d.completeNodes
		}
	}
	cmd.PersistentFlags().StringVar(&d.data, "data", devcluster.DefaultDir, "data directory of the cluster")
	return cmd
}

// completeNodes offers what names nodes.
func (d *dev) completeNodes(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	s, err := devcluster.Read(d.data)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, n := range s.Nodes {
		if id := strconv.Itoa(n.ID); !slices.Contains(args, id) {
			out = append(out, id)
		}
	}
	if len(args) == 0 {
		out = append(out, "master", "all")
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// dev is a command on a local cluster.
type dev struct {
	app  *app
	data string
}

// nodesOf looks up what the arguments name, all before anything is done to any.
func (d *dev) nodesOf(ctx context.Context, s *devcluster.State, args []string) ([]devcluster.Node, error) {
	var out []devcluster.Node
	for _, arg := range args {
		if arg == "all" {
			if len(args) > 1 {
				return nil, usage("all stands for every node: leave the others out")
			}
			return s.Nodes, nil
		}
		id, err := strconv.Atoi(arg)
		if arg == "master" {
			var m client.Status
			if m, err = d.findMaster(ctx, s); err != nil {
				return nil, err
			}
			id = int(m.Node)
		} else if err != nil {
			return nil, usage("%q is no node: give a number, master or all", arg)
		}
		n := s.Node(id)
		if n == nil {
			return nil, usage("there is no node %d in %s; it has %s", id, d.data, s.IDs())
		}
		out = append(out, *n)
	}
	return out, nil
}

// hint is the command line that does verb to a node of this cluster.
func (d *dev) hint(verb string, id int) string {
	s := fmt.Sprintf("kvctl dev %s %d", verb, id)
	if d.data == devcluster.DefaultDir {
		return s
	}
	if strings.ContainsAny(d.data, " \t'\"$\\*?") {
		return s + " --data " + strconv.Quote(d.data)
	}
	return s + " --data " + d.data
}

// survey asks the nodes that run. A paused one would only be waited for.
func (d *dev) survey(ctx context.Context, s *devcluster.State) (survey, error) {
	var endpoints []string
	for _, n := range s.Nodes {
		if process.Find(s, n).State == process.Running {
			endpoints = append(endpoints, n.Client)
		}
	}
	if len(endpoints) == 0 {
		return nil, nil
	}
	c, err := client.New(client.Config{Endpoints: endpoints})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", devcluster.StateName, err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, d.app.timeout)
	defer cancel()
	return takeSurvey(ctx, c), nil
}

func (d *dev) findMaster(ctx context.Context, s *devcluster.State) (client.Status, error) {
	v, err := d.survey(ctx, s)
	if err != nil {
		return client.Status{}, err
	}
	m, ok := v.master()
	if !ok {
		return client.Status{}, fmt.Errorf("no node in %s says that it is master; see kvctl dev status", d.data)
	}
	return m, nil
}

func (d *dev) master(cmd *cobra.Command, _ []string) error {
	s, err := devcluster.Read(d.data)
	if err != nil {
		return err
	}
	m, err := d.findMaster(cmd.Context(), s)
	if err != nil {
		return err
	}
	return d.app.print(masterJSON{m.Node, m.Epoch, m.Lease.RemainingMS}, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, m.Node)
		return err
	})
}

// devStatusJSON is a node of `dev status` with --json.
type devStatusJSON struct {
	Node   int    `json:"node"`
	PID    int    `json:"pid"`
	State  string `json:"state"`
	Role   string `json:"role,omitempty"`
	Client string `json:"client"`
	Peer   string `json:"peer"`
	Data   string `json:"data"`
	Log    string `json:"log"`
}

func (d *dev) status(cmd *cobra.Command, _ []string) error {
	s, err := devcluster.Read(d.data)
	if err != nil {
		return err
	}
	v, err := d.survey(cmd.Context(), s)
	if err != nil {
		return err
	}
	out := make([]devStatusJSON, len(s.Nodes))
	for i, n := range s.Nodes {
		p := process.Find(s, n)
		out[i] = devStatusJSON{n.ID, p.PID, p.State.String(), "", n.Client, n.Peer, n.Data, n.Log}
		for _, x := range v {
			if x.answers() && x.status.Node == uint64(n.ID) {
				out[i].Role = x.status.Role
			}
		}
	}
	return d.app.print(out, func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "NODE\tPID\tSTATE\tROLE\tCLIENTS\tPEERS\tDATA")
		for _, n := range out {
			pid, role := strconv.Itoa(n.PID), n.Role
			if n.PID == 0 {
				pid = "-"
			}
			if role == "" {
				role = "-"
			}
			fmt.Fprintln(t, strings.Join([]string{strconv.Itoa(n.Node), pid, n.State, role, n.Client, n.Peer, n.Data}, "\t"))
		}
		return t.Flush()
	})
}

// done reports what became of a node.
func (d *dev) done(n devcluster.Node, pid int, what string) error {
	return d.app.print(struct {
		Node int    `json:"node"`
		PID  int    `json:"pid"`
		Done string `json:"done"`
	}{n.ID, pid, what}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "node %d (pid %d) %s\n", n.ID, pid, what)
		return err
	})
}

// signal sends sig to each node named and waits until it shows.
func (d *dev) signal(sig syscall.Signal) func(*cobra.Command, []string) error {
	effect := map[syscall.Signal]struct {
		want process.State
		word string
	}{
		syscall.SIGKILL: {process.Gone, "killed"}, syscall.SIGTERM: {process.Gone, "stopped"}, syscall.SIGSTOP: {process.Paused, "paused"}, syscall.SIGCONT: {process.Running, "goes on"},
	}[sig]
	return func(cmd *cobra.Command, args []string) error {
		s, err := devcluster.Read(d.data)
		if err != nil {
			return err
		}
		nodes, err := d.nodesOf(cmd.Context(), s, args)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), d.app.timeout)
		defer cancel()
		for _, n := range nodes {
			p := process.Find(s, n)
			if p.State == process.Gone && len(args) == 1 && args[0] == "all" {
				continue
			}
			if p.State == process.Gone {
				return fmt.Errorf("node %d is not running; start it with: %s", n.ID, d.hint("start", n.ID))
			}
			if p.State == process.Paused && sig == syscall.SIGTERM {
				return fmt.Errorf("node %d is paused and cannot stop in order; let it go on first: %s", n.ID, d.hint("resume", n.ID))
			}
			if err := p.Signal(ctx, s, n, sig, effect.want); err != nil {
				return err
			}
			if err := d.done(n, p.PID, effect.word); err != nil {
				return err
			}
			if effect.want == process.Gone {
				if err := d.forget(ctx, n.ID, p.PID); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// forget notes that a process is gone, unless another has taken its place.
func (d *dev) forget(ctx context.Context, id, pid int) error {
	return devcluster.Update(ctx, d.data, func(s *devcluster.State) error {
		if n := s.Node(id); n != nil && n.PID == pid {
			n.PID = 0
		}
		return nil
	})
}
