package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

// watchFlags are what `kvctl watch` is told.
type watchFlags struct {
	key    string // "": all under prefix
	prefix string
	index  uint64
	limit  int
	exec   string
}

func newWatch(a *app) *cobra.Command {
	var o watchFlags
	cmd := &cobra.Command{
		Use:   "watch KEY | --prefix PREFIX",
		Short: "Print every change of a key, or under a prefix",
		Long: "watch prints a line for each change, in order and each once: its index, what it is (set, delete, session, compacted),\n" +
			"the key and the value, with tabs between them. It goes on when nodes fail, until it is interrupted, or until\n" +
			"--timeout has passed if that is given. It begins with the changes to come, or behind --index N: the last index\n" +
			"that was printed, or that kvctl list --index 0 has told.\n\n" +
			"A line with compacted says that changes up to its index may be missing, because the nodes do not remember them\n" +
			"any more: list again. Sessions that are created or end are told with the empty prefix.\n\n" +
			"With --exec a command is run by the shell for each change, one after the other, with $TENURE_EVENT, $TENURE_KEY,\n" +
			"$TENURE_INDEX and $TENURE_SESSION, and the value as its standard input. If it fails that is told, and no more.",
		Example:           "  kvctl watch config\n  kvctl watch --prefix jobs/ --exec 'work-on \"$TENURE_KEY\"'",
		Args:              cobra.MaximumNArgs(1),
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
			if a.stale || a.consistent {
				return usage("--stale and --consistent are not about watching; leave them out")
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
	f.StringVar(&o.prefix, "prefix", "", "all keys that start with this")
	f.Var((*decimal)(&o.index), "index", "begin behind this index")
	f.IntVar(&o.limit, "limit", 0, "end after so many changes (0: never)")
	f.StringVar(&o.exec, "exec", "", "run this for each change")
	return cmd
}

func (a *app) watch(ctx context.Context, o watchFlags, fromIndex bool) error {
	if !fromIndex {
		err := a.call(ctx, func(ctx context.Context, c *client.Client) (err error) {
			o.index, err = c.Revision(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	n := 0
	for e, err := range c.Watch(ctx, o.prefix, o.index) {
		if err != nil && ctx.Err() != nil {
			return nil // it was told to end
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
		if o.exec != "" && e.Kind != client.EventCompacted {
			a.execEvent(ctx, o.exec, e)
		}
		if n++; n == o.limit {
			return nil
		}
	}
	return nil
}

func (a *app) printEvent(e client.Event) error {
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
		text += "\t" + output.OneLine(e.Key)
	case client.EventSet:
		shown := entryJSON(e.Entry)
		out.Key, out.Entry = &e.Key, &shown
		text += "\t" + output.OneLine(e.Key) + "\t" + output.OneLine(string(e.Entry.Value))
	}
	return a.print(out, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, text)
		return err
	})
}

// execEvent runs a command for one change and tells if it fails.
func (a *app) execEvent(ctx context.Context, command string, e client.Event) {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.WaitDelay = time.Second
	cmd.Env = append(append(cmd.Env, a.environ...),
		"TENURE_EVENT="+string(e.Kind), "TENURE_KEY="+e.Key, fmt.Sprintf("TENURE_INDEX=%d", e.Index), "TENURE_SESSION="+e.Session)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(e.Entry.Value), a.stdout, a.stderr
	if err := cmd.Run(); err != nil {
		a.note("the command for index %d: %v", e.Index, err)
	}
}

// note says something on standard error that is no failure of kvctl.
func (a *app) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if a.json {
		_ = json.NewEncoder(a.stderr).Encode(struct {
			Note string `json:"note"`
		}{text})
		return
	}
	fmt.Fprintf(a.stderr, "kvctl: %s\n", text)
}
