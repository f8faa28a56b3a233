package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"tenure/api"
	"tenure/client"
	"tenure/cmd/kvctl/internal/child"
	"tenure/internal/shown"
)

// watchFlags are the flags of `kvctl watch`.
type watchFlags struct {
	key    string // "": all keys under prefix
	prefix string
	index  uint64
	limit  int
	exec   string
}

func newWatch(a *app) *cobra.Command {
	var o watchFlags
	cmd := &cobra.Command{
		Use:   "watch KEY | --prefix PREFIX",
		Short: "Print every change of a key, or of all keys under a prefix",
		Long: "Print a line for each change, in order and once: its index, its kind (set, delete, session or\n" +
			"compacted), the key and the value, separated by tabs. The watch goes on when nodes fail, until it\n" +
			"is interrupted, or until --timeout if that is given. It begins with the next change, or with\n" +
			"--index N after index N: the last index printed, or the one that kvctl list --index 0 printed.\n\n" +
			"A line with compacted says that changes up to its index may be missing, because the nodes no\n" +
			"longer remember them, or because --index is of another store, which this one has replaced: list\n" +
			"the keys again. Sessions that are created or end are printed with the empty prefix.\n\n" +
			"With --exec, the shell runs a command for each line, one after the other, with $TENURE_EVENT,\n" +
			"$TENURE_KEY, $TENURE_INDEX and $TENURE_SESSION set and the value as standard input. If it fails,\n" +
			"that is reported and the watch goes on.",
		Example:           "  kvctl watch config\n  kvctl watch --prefix jobs/ --exec 'work-on \"$TENURE_KEY\"'",
		Args:              arguments(0, 1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			f := cmd.Flags()
			if (len(args) == 1) == f.Changed("prefix") {
				return usage("give a KEY or --prefix PREFIX (--prefix '' is every key)")
			}
			if len(args) == 1 {
				if args[0] == "" {
					return usage("the key is empty: --prefix '' is every key")
				}
				o.key, o.prefix = args[0], args[0]
			}
			if o.limit < 0 {
				return usage("--limit %d: must not be negative", o.limit)
			}
			if err := a.noReadMode(); err != nil {
				return err
			}
			ctx := cmd.Context()
			if f.Changed("timeout") {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, a.timeout)
				defer cancel()
			}
			return a.watch(ctx, o, f.Changed("index"))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.prefix, "prefix", "", "watch all keys that start with this")
	f.Var((*decimal)(&o.index), "index", "begin after this index")
	f.IntVar(&o.limit, "limit", 0, "end after this many changes (0: never)")
	f.StringVar(&o.exec, "exec", "", "run this command for each change")
	a.timeoutFlag(cmd, "time limit (default: none)")
	return cmd
}

func (a *app) watch(ctx context.Context, o watchFlags, fromIndex bool) error {
	if !fromIndex {
		err := a.call(ctx, func(ctx context.Context, c *client.Client) error {
			_, meta, err := c.Keys(ctx, o.prefix, client.ListOptions{Limit: 1}) // it needs no other permission than the watch
			o.index = meta.Revision
			return err
		})
		if err != nil {
			return err
		}
	}
	c, err := a.client(ctx)
	if err != nil {
		return err
	}
	n := 0
	for e, err := range c.Watch(ctx, o.prefix, o.index) {
		if err != nil && ctx.Err() != nil {
			return nil // interrupted, or the time is over
		}
		if err != nil {
			return err
		}
		if o.key != "" && e.Key != o.key && e.Kind != client.EventCompacted {
			continue
		}
		if err := a.printEvent(e); err != nil {
			return err
		}
		if o.exec != "" {
			a.execEvent(ctx, o.exec, e)
		}
		if n++; n == o.limit {
			return nil
		}
	}
	return nil
}

// noteWatchWaits says on standard error that a watch gets nowhere, or goes on.
func (p *printer) noteWatchWaits(d time.Duration, err error) {
	d = d.Truncate(time.Second)
	var status *client.StatusError
	switch {
	case err == nil:
		p.note("the watch goes on after %v", d)
	case errors.As(err, &status) && status.Code == api.CodeOtherCluster:
		p.note("the watch has waited for %v for the cluster that it began with: %v. If that is gone, start kvctl watch again",
			d, err)
	default:
		p.note("the watch has waited for %v and goes on trying: %v", d, err)
	}
}

func (p *printer) printEvent(e client.Event) error {
	out := struct {
		Event   string  `json:"event"`
		Index   uint64  `json:"index"`
		Resume  uint64  `json:"resume"`
		Key     *string `json:"key,omitempty"`
		Session string  `json:"session,omitempty"`
		Entry   *entry  `json:"entry,omitempty"`
	}{Event: string(e.Kind), Index: e.Index, Resume: e.Resume, Session: e.Session}
	text := fmt.Sprintf("%d\t%s", e.Index, e.Kind)
	switch e.Kind {
	case client.EventSession:
		text += "\t" + e.Session
	case client.EventDelete:
		out.Key = &e.Key
		text += "\t" + shown.Line(e.Key)
	case client.EventSet:
		whole := entryJSON(e.Entry)
		out.Key, out.Entry = &e.Key, &whole
		text += "\t" + shown.Line(e.Key) + "\t" + shown.Line(string(e.Entry.Value))
	}
	return p.printf(out, "%s\n", text)
}

// execEvent runs a command for one change and reports a failure of it.
func (a *app) execEvent(ctx context.Context, command string, e client.Event) {
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = append(append(cmd.Env, a.environ...),
		"TENURE_EVENT="+string(e.Kind), "TENURE_KEY="+e.Key, fmt.Sprintf("TENURE_INDEX=%d", e.Index),
		"TENURE_SESSION="+e.Session)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(e.Entry.Value), a.output.w, a.stderr
	started, err := child.Start(cmd)
	if err == nil {
		err, _ = started.Supervise(ctx, child.Right{}, defaultKillAfter)
	}
	if err != nil {
		a.note("the command for index %d: %v", e.Index, err)
	}
}
