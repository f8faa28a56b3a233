package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
	"tenure/internal/buildinfo"
	"tenure/internal/progress"
)

// defaultEndpoints are the nodes of `kvnode dev`.
var defaultEndpoints = []string{"http://127.0.0.1:8500", "http://127.0.0.1:8501", "http://127.0.0.1:8502"}

const endpointsVariable = "KVCTL_ENDPOINTS"

// app is one run of kvctl.
type app struct {
	environ        []string
	stdin          io.Reader
	stdout, stderr io.Writer

	endpoints         []string
	json              bool
	timeout           time.Duration
	stale, consistent bool

	onTerminal func(io.Writer) bool // tells whether what is written is shown on one

	started bool          // the command line was understood
	settles bool          // the command can be run again with the idempotency key of its write
	waits   time.Duration // what a call that waits may take beyond timeout, or less if it is negative
	cached  *client.Client
}

func newApp(environ []string, stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{environ: environ, stdin: stdin, stdout: stdout, stderr: stderr, onTerminal: progress.IsTerminal}
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "kvctl",
		Short: "Read, write and look after a Tenure cluster",
		Long: "kvctl reads, writes and looks after a Tenure cluster. It needs no idea of who is master: any node will do.\n\n" +
			"Exit codes: 0 done, 1 failed or not found, 2 usage, 3 outcome unknown. kvctl lock and\n" +
			"kvctl lease run and kvctl elect have that of their command.",
		Example:       "  kvctl set hello world\n  kvctl get hello\n  kvctl status --watch",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       buildinfo.Read().Line("kvctl"),
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			a.started, a.settles = true, cmd.Flags().Lookup("idempotency-key") != nil
		},
	}
	f := root.PersistentFlags()
	f.SortFlags = false
	f.StringSliceVar(&a.endpoints, "endpoints", a.environEndpoints(), "client addresses of nodes, HOST[:PORT] ("+endpointsVariable+")")
	f.BoolVar(&a.json, "json", false, "print JSON")
	f.DurationVar(&a.timeout, "timeout", client.DefaultTimeout, "longest time for the whole command")
	f.BoolVar(&a.stale, "stale", false, "read what any one node has applied, however old; works without a master")
	f.BoolVar(&a.consistent, "consistent", false, "read without trusting clocks; costs a round of messages between the nodes")
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(
		newGet(a), newSet(a), newCAS(a), newTestAndSet(a), newAdd(a), newRename(a), newDelete(a), newRemove(a), newPrune(a),
		newList(a), newCount(a), newExpire(a), newWatch(a), newTxn(a), newLock(a), newLease(a), newElect(a), newSession(a),
		newStatus(a), newMaster(a), newDev(a), newBench(a), newVersion(a),
	)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.InitDefaultCompletionCmd() // it takes the output as it is now
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			group(c, c.Commands()...)
		}
	}
	return root
}

func (a *app) environEndpoints() []string {
	for _, e := range a.environ {
		if v, ok := strings.CutPrefix(e, endpointsVariable+"="); ok && v != "" {
			return strings.Split(v, ",")
		}
	}
	return defaultEndpoints
}

// giveUpRefused is when a command fails if nothing listens at any endpoint. A node that starts anew is not missed for
// so long.
const giveUpRefused = 500 * time.Millisecond

// cleanEndpoints leaves out spaces around commas, and what is empty.
func cleanEndpoints(list []string) []string {
	var out []string
	for _, e := range list {
		if e = strings.TrimSpace(e); e != "" {
			out = append(out, e)
		}
	}
	return out
}

// client is the handle on the cluster, made when it is first needed.
func (a *app) client() (*client.Client, error) {
	if a.cached != nil {
		return a.cached, nil
	}
	if a.timeout <= 0 {
		return nil, usage("--timeout %v: must be above 0", a.timeout)
	}
	a.endpoints = cleanEndpoints(a.endpoints)
	c, err := client.New(client.Config{Endpoints: a.endpoints, Timeout: a.timeout, GiveUpRefused: giveUpRefused})
	if err != nil {
		return nil, usage("--endpoints: %s", strings.TrimPrefix(err.Error(), "client: "))
	}
	a.cached = c
	return c, nil
}

func (a *app) close() {
	if a.cached != nil {
		a.cached.Close()
	}
}

// call runs f with the client and the time that the command has.
func (a *app) call(ctx context.Context, f func(context.Context, *client.Client) error) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout+a.waits)
	defer cancel()
	return f(ctx, c)
}

// write is call for what changes keys: there is only one way to write.
func (a *app) write(ctx context.Context, f func(context.Context, *client.Client) error) error {
	if a.stale || a.consistent {
		return usage("--stale and --consistent are about reading; leave them out")
	}
	return a.call(ctx, f)
}

// mode is the read mode asked for.
func (a *app) mode() (client.Mode, error) {
	switch {
	case a.stale && a.consistent:
		return 0, usage("--stale and --consistent contradict each other: give one of them")
	case a.stale:
		return client.Stale, nil
	case a.consistent:
		return client.Consistent, nil
	}
	return client.Default, nil
}

// read is call for what reads, with the mode.
func (a *app) read(ctx context.Context, f func(context.Context, *client.Client, client.Mode) (client.Meta, error)) error {
	mode, err := a.mode()
	if err != nil {
		return err
	}
	return a.call(ctx, func(ctx context.Context, c *client.Client) error {
		meta, err := f(ctx, c, mode)
		if err == nil && mode == client.Stale {
			a.tellAge(meta)
		}
		return err
	})
}

// oldAge is from when on a stale read is worth a word: a follower in health hears from the master far more often.
const oldAge = time.Second

func (a *app) tellAge(m client.Meta) {
	if a.json || m.KnownLeader && m.LastContact < oldAge {
		return
	}
	fmt.Fprintf(a.stderr, "kvctl: stale: the node last heard from a master %s ago\n", output.Duration(m.LastContact))
}

// print writes v as JSON if that is asked for, and else what text writes.
func (a *app) print(v any, text func(w io.Writer) error) error {
	if a.json {
		return json.NewEncoder(a.stdout).Encode(v)
	}
	return text(a.stdout)
}

// group makes cmd one that only holds others.
func group(cmd *cobra.Command, children ...*cobra.Command) *cobra.Command {
	var names []string
	for _, c := range children {
		names = append(names, c.Name())
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usage("%s has no command %q; it has %s", cmd.CommandPath(), args[0], strings.Join(names, ", "))
		}
		return usage("%s needs a command: %s", cmd.CommandPath(), strings.Join(names, ", "))
	}
	cmd.Args = nil
	cmd.RemoveCommand(children...)
	cmd.AddCommand(children...)
	return cmd
}
