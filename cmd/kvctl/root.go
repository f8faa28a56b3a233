package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/internal/buildinfo"
	"tenure/internal/completion"
)

// defaultEndpoints are the nodes of `kvnode dev`.
var defaultEndpoints = []string{"127.0.0.1:8500", "127.0.0.1:8501", "127.0.0.1:8502"}

// app is one run of kvctl: its surroundings, the flags that all commands share, and the handle on the cluster.
type app struct {
	printer
	connection
	stdin io.Reader

	timeoutGiven      bool // with --timeout
	stale, consistent bool

	output     *outputWriter // what stdout is
	started    bool          // the command line was understood
	changes    bool          // the command changes something, and prints when it has
	repeatable bool          // the command takes the idempotency key of an earlier run
	extraTime  time.Duration // by which the command's calls may exceed timeout; negative: by which they stay below it
}

func newApp(environ []string, stdin io.Reader, stdout, stderr io.Writer) *app {
	output := &outputWriter{w: stdout}
	a := &app{
		stdin: stdin, output: output,
		printer:    printer{stdout: output, stderr: stderr, onTerminal: output.onTerminal},
		connection: connection{environ: environ},
	}
	a.connection.notes = &a.printer
	return a
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "kvctl",
		Short: "Command line for a Tenure cluster",
		Long: "kvctl is the command line for a Tenure cluster. It works through any node and finds the master by\n" +
			"itself.\n\n" +
			"Exit codes: 0 done, 1 failed or not found, 2 wrong usage, 3 outcome unknown, or done and not printed.\n" +
			"kvctl lock, lease run and elect return the exit code of the command that they run.",
		Example:       "  kvctl set hello world\n  kvctl get hello\n  kvctl status --watch",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       buildinfo.Read().Line("kvctl"),
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(cmd, args[0], commandNames(cmd))
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.started, a.repeatable = true, cmd.Flags().Lookup("idempotency-key") != nil
			a.endpointsGiven = cmd.Flags().Changed("endpoints")
			if a.timeoutGiven = cmd.Flags().Changed("timeout"); a.timeout <= 0 {
				return usage("--timeout %v: must be above 0", a.timeout)
			}
			return nil
		},
	}
	f := root.PersistentFlags()
	f.SortFlags = false
	a.addEndpoints(f)
	a.addTLS(f)
	a.addToken(f)
	f.BoolVar(&a.json, "json", false, "print JSON")
	durationVar(f, &a.timeout, "timeout", client.DefaultTimeout, "time limit of the whole command")
	f.BoolVar(&a.stale, "stale", false, "read what one node has applied, however old; works without a master")
	f.BoolVar(&a.consistent, "consistent", false,
		"read without trusting clocks, at the cost of a round trip between nodes")
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newGet(a), newSet(a), newCAS(a), newTestAndSet(a), newAdd(a), newRename(a), newDelete(a), newRemove(a),
		newPrune(a),
		newList(a), newCount(a), newExpire(a), newWatch(a), newTxn(a), newLock(a), newLease(a), newElect(a),
		newSession(a),
		newStatus(a), newMember(a), newDrain(a), newBackup(a), newExport(a), newImport(a), newQuota(a), newACL(a), newMaster(a),
		newUpgrade(a), newCA(a), newDev(a), newBench(a), newVersion(a),
	)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.CompletionOptions.DisableDefaultCmd = true
	scripts := completion.Command("kvctl", a.stdout)
	root.AddCommand(group(scripts, scripts.Commands()...))
	return root
}

// timeoutFlag gives cmd a --timeout of its own, for a command to which the time limit of the general one does not
// apply. The usage text says what holds without it.
func (a *app) timeoutFlag(cmd *cobra.Command, usage string) {
	durationVar(cmd.Flags(), &a.timeout, "timeout", client.DefaultTimeout, usage)
	cmd.Flags().Lookup("timeout").DefValue = "" // the help text names no default besides
}

// bounded returns the command's context, with a time limit if the user gave one. Without one, the default of --timeout
// begins when a command has read its input: that takes as long as whoever writes it does.
func (a *app) bounded(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	if a.timeoutGiven {
		return context.WithTimeout(cmd.Context(), a.timeout)
	}
	return cmd.Context(), func() {}
}

// call runs f with the client within the command's time limit.
func (a *app) call(ctx context.Context, f func(context.Context, *client.Client) error) error {
	limit := a.timeout + a.extraTime
	if a.timeoutGiven {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return f(ctx, c)
}

// write is change for a command that has no read mode.
func (a *app) write(ctx context.Context, f func(context.Context, *client.Client) error) error {
	if err := a.noReadMode(); err != nil {
		return err
	}
	return a.change(ctx, f)
}

// change is call for a command that changes something, a key or the cluster.
func (a *app) change(ctx context.Context, f func(context.Context, *client.Client) error) error {
	a.changes = true
	return a.call(ctx, f)
}

// writeKey is write for a command that prints the revision of its write of a key.
func (a *app) writeKey(
	ctx context.Context, key string, f func(context.Context, *client.Client) (revision uint64, err error),
) error {
	return a.write(ctx, func(ctx context.Context, c *client.Client) error {
		revision, err := f(ctx, c)
		if err != nil {
			return err
		}
		return a.printWritten(key, revision)
	})
}

// noReadMode returns an error if --stale or --consistent is given to a command that does not read keys or sessions.
func (a *app) noReadMode() error {
	if a.stale || a.consistent {
		return usage("--stale and --consistent select how keys and sessions are read; leave them out here")
	}
	return nil
}

// mode returns the read mode that the flags select.
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

// read is call for a command that reads, with the mode.
func (a *app) read(
	ctx context.Context, f func(context.Context, *client.Client, client.Mode) (client.Meta, error),
) error {
	mode, err := a.mode()
	if err != nil {
		return err
	}
	return a.call(ctx, func(ctx context.Context, c *client.Client) error {
		meta, err := f(ctx, c, mode)
		if err == nil && mode == client.Stale {
			a.noteAge(meta)
		}
		return err
	})
}

// poll calls f at once and then at each interval until it returns true or an error, or until ctx ends: then it returns
// ctx's error.
func poll(ctx context.Context, interval time.Duration, f func() (done bool, err error)) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if done, err := f(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// optional returns the first argument, or "" if there is none.
func optional(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
