//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/internal/devcluster"
	"tenure/internal/process"
	"tenure/internal/shown"
)

func newDev(a *app) *cobra.Command {
	d := &dev{app: a}
	cmd := group(&cobra.Command{
		Use:   "dev",
		Short: "Stop, kill, pause, start, add and remove the nodes of a local cluster (kvnode dev)",
		Long: "Work on the processes of a cluster that kvnode dev has started on this machine. It is found by its\n" +
			"data directory. A process gets a signal only if it is still the node that is recorded there.\n\n" +
			"N is the number of a node; master stands for the node that is master, and all for every node.",
		Example: "  kvctl dev kill master\n  kvctl dev start 2\n  kvctl dev restart all\n  kvctl dev logs 1 2 --follow\n" +
			"  kvctl dev add\n  kvctl dev wipe 2\n  kvctl dev replace 2",
	},
		d.onNodes("kill", "Kill nodes with SIGKILL", d.signal(syscall.SIGKILL)),
		d.onNodes("pause", "Pause nodes with SIGSTOP", d.signal(syscall.SIGSTOP)),
		d.onNodes("resume", "Resume paused nodes with SIGCONT", d.signal(syscall.SIGCONT)),
		d.onNodes("start", "Start nodes that do not run", d.each(d.start)),
		d.onNodes("stop", "Stop nodes in order with SIGTERM: a master hands over first", d.signal(syscall.SIGTERM)),
		d.newRestart(),
		newDevLogs(d),
		&cobra.Command{
			Use: "status", Short: "List the nodes and their processes", Args: arguments(0, 0), RunE: d.status,
		},
		&cobra.Command{Use: "master", Short: "Print the number of the master", Args: arguments(0, 0), RunE: d.master},
	)
	cmd.AddCommand(d.newMembers()...)
	cmd.PersistentFlags().StringVar(&d.data, "data", devcluster.DefaultDir, "data directory of the cluster")
	return cmd
}

// dev is a command on a local cluster.
type dev struct {
	app  *app
	data string
}

// onNodes returns a command on the nodes that its arguments name.
func (d *dev) onNodes(name, short string, run func(*cobra.Command, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: name + " N...", Short: short, Args: arguments(1, many), RunE: run, ValidArgsFunction: d.completeNodes,
	}
}

// completeNodes completes the numbers of nodes that are not given yet.
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

// choose returns the cluster and the nodes that the arguments name. Nothing is done to any node before all are known.
func (d *dev) choose(ctx context.Context, args []string) (*devcluster.State, []devcluster.Node, error) {
	s, err := devcluster.Read(d.data)
	if err != nil {
		return nil, nil, err
	}
	if slices.Contains(args, "all") {
		if len(args) > 1 {
			return nil, nil, usage("all stands for every node: leave the others out")
		}
		return s, s.Nodes, nil
	}
	var out []devcluster.Node
	for _, arg := range args {
		id, err := strconv.Atoi(arg)
		if arg == "master" {
			var m client.Status
			if m, err = d.findMaster(ctx, s); err != nil {
				return nil, nil, err
			}
			id = int(m.Node)
		} else if err != nil {
			return nil, nil, usage("%q is not a node: give a number, master or all", arg)
		}
		n := s.Node(id)
		if n == nil {
			return nil, nil, usage("there is no node %d in %s; it has %s", id, d.data, s.IDs())
		}
		out = append(out, *n)
	}
	return s, out, nil
}

// hint returns the command line that does verb to a node of this cluster.
func (d *dev) hint(verb string, id int) string {
	s := fmt.Sprintf("kvctl dev %s %d", verb, id)
	if d.data == devcluster.DefaultDir {
		return s
	}
	return s + " --data " + shown.Word(d.data)
}

// connect returns a client with the authority of the cluster to which n belongs, if it speaks TLS, and its first token,
// if it has one.
func connect(n devcluster.Node, cfg client.Config) (*client.Client, error) {
	cfg.TokenFile = n.Token
	if n.CA != "" {
		cfg.TLS = &client.TLS{CAFile: n.CA, Default: true}
	}
	c, err := client.New(cfg)
	if err != nil {
		err = fmt.Errorf("%s: %w", devcluster.StateName, err)
	}
	return c, err
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
	c, err := connect(s.Nodes[0], client.Config{Endpoints: endpoints, NoLearning: true})
	if err != nil {
		return nil, err
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
	return d.app.printf(masterOut(m), "%d\n", m.Node)
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
	rows := make([][]string, len(s.Nodes))
	for i, n := range s.Nodes {
		p := process.Find(s, n)
		o := devStatusJSON{n.ID, p.PID, p.State.String(), "", n.Client, n.Peer, n.Data, n.Log}
		for _, x := range v {
			if x.answers() && x.status.Node == uint64(n.ID) {
				o.Role = x.status.Role
			}
		}
		pid := "-"
		if p.PID != 0 {
			pid = strconv.Itoa(p.PID)
		}
		out[i], rows[i] = o, []string{strconv.Itoa(n.ID), pid, o.State, orDash(o.Role), n.Client, n.Peer, n.Data}
	}
	return d.app.print(out, func(w io.Writer) error {
		return table(w, []string{"NODE", "PID", "STATE", "ROLE", "CLIENTS", "PEERS", "DATA"}, rows)
	})
}

// done reports what was done to a node.
func (d *dev) done(n devcluster.Node, pid int, what string) error {
	node := fmt.Sprintf("node %d", n.ID)
	if pid != 0 {
		node += fmt.Sprintf(" (pid %d)", pid)
	}
	return d.app.printf(struct {
		Node int    `json:"node"`
		PID  int    `json:"pid"`
		Done string `json:"done"`
	}{n.ID, pid, what}, "%s %s\n", node, what)
}

// each returns a command that does f to each of the nodes, within one time limit. all: they are not named one by one.
func (d *dev) each(
	f func(ctx context.Context, s *devcluster.State, n devcluster.Node, all bool) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, nodes, err := d.choose(cmd.Context(), args)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), d.app.timeout)
		defer cancel()
		for _, n := range nodes {
			if err := f(ctx, s, n, args[0] == "all"); err != nil {
				return err
			}
		}
		return nil
	}
}

// signal returns a command that sends sig to each of the nodes and waits for its effect.
func (d *dev) signal(sig syscall.Signal) func(*cobra.Command, []string) error {
	return d.each(func(ctx context.Context, s *devcluster.State, n devcluster.Node, all bool) error {
		switch p := process.Find(s, n); {
		case p.State == process.Running && sig == syscall.SIGCONT && all:
			return nil
		case p.State == process.Running && sig == syscall.SIGCONT:
			return d.done(n, p.PID, "was not paused")
		case p.State != process.Gone:
			return d.signalOne(ctx, s, n, p, sig)
		case all:
			return nil
		}
		return fmt.Errorf("node %d is not running; start it with: %s", n.ID, d.hint("start", n.ID))
	})
}

// effects are the states that signals lead to, and the words for them.
var effects = map[syscall.Signal]struct {
	state process.State
	word  string
}{
	syscall.SIGKILL: {process.Gone, "killed"}, syscall.SIGTERM: {process.Gone, "stopped"},
	syscall.SIGSTOP: {process.Paused, "paused"}, syscall.SIGCONT: {process.Running, "resumed"},
}

// signalOne sends sig to a node that runs, waits for its effect, and reports it.
func (d *dev) signalOne(
	ctx context.Context, s *devcluster.State, n devcluster.Node, p process.Process, sig syscall.Signal,
) error {
	if p.State == process.Paused && sig == syscall.SIGTERM {
		return fmt.Errorf("node %d is paused and cannot stop in order; resume it first: %s", n.ID,
			d.hint("resume", n.ID))
	}
	effect := effects[sig]
	if err := p.Signal(ctx, s, n, sig, effect.state); err != nil {
		return err
	}
	if err := d.done(n, p.PID, effect.word); err != nil {
		return err
	}
	if effect.state == process.Gone {
		return d.forget(ctx, n.ID, p.PID)
	}
	return nil
}

// forget records that a process is gone, unless another has taken its place.
func (d *dev) forget(ctx context.Context, id, pid int) error {
	return devcluster.SetPID(ctx, d.data, id, pid, 0)
}
