package main

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

func newGet(a *app) *cobra.Command {
	var wait waitFlags
	var prefix bool
	cmd := &cobra.Command{
		Use:   "get KEY",
		Short: "Write a key's value to standard output, byte for byte",
		Long: "get writes a key's value to standard output as it is; only on a terminal a line end follows one that has none. With\n" +
			"--json it prints the whole entry, the value in base64. An absent key is exit code 1.\n\n" +
			"With --prefix it prints all keys that start with KEY, and their values, as kvctl list --values does; none is no failure.\n\n" + waitText,
		Example:           "  kvctl get hello\n  kvctl get hello --index 17 --wait 1m\n  kvctl get --prefix jobs/",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := wait.start(a, cmd); err != nil {
				return err
			}
			return a.read(cmd.Context(), func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
				if prefix {
					return a.listEntries(ctx, c, args[0], client.ListOptions{Mode: mode}, &wait)
				}
				e, meta, err := c.GetWait(ctx, args[0], wait.index, wait.wait, client.ReadOptions{Mode: mode})
				wait.tell(a, meta)
				if err != nil {
					return meta, err
				}
				return meta, a.print(entryJSON(e), func(w io.Writer) error { return a.writeValue(w, e.Value) })
			})
		},
	}
	wait.add(cmd)
	cmd.Flags().BoolVar(&prefix, "prefix", false, "print all keys that start with KEY, and their values")
	return cmd
}

// writeValue writes a value as it is. On a terminal the next prompt begins on a line of its own.
func (a *app) writeValue(w io.Writer, value []byte) error {
	_, err := w.Write(value)
	if err == nil && a.onTerminal(w) && len(value) > 0 && value[len(value)-1] != '\n' {
		_, err = io.WriteString(w, "\n")
	}
	return err
}

// entry is a key as --json prints it.
type entry struct {
	Key         string `json:"key"`
	Value       []byte `json:"value"` // base64
	Flags       uint64 `json:"flags"`
	CreateIndex uint64 `json:"create_index"`
	ModifyIndex uint64 `json:"modify_index"`
	LockIndex   uint64 `json:"lock_index"`
	Session     string `json:"session,omitempty"`
	ExpiresIn   int64  `json:"expires_in_ms,omitempty"`
}

func entryJSON(e client.Entry) entry {
	if e.Value == nil {
		e.Value = []byte{}
	}
	return entry{e.Key, e.Value, e.Flags, e.CreateIndex, e.ModifyIndex, e.LockIndex, e.Session, e.ExpiresIn.Milliseconds()}
}

func newList(a *app) *cobra.Command {
	var o client.ListOptions
	var values bool
	var wait waitFlags
	cmd := &cobra.Command{
		Use:     "list [PREFIX]",
		Aliases: []string{"ls"},
		Short:   "List keys in order",
		Long: "list prints the keys that start with PREFIX (all keys without one), one a line, in order, from one consistent\n" +
			"view. Keys, and values with --values, that would not fit on a line are printed quoted. Listing nothing is no\n" +
			"failure. For pages of N: --limit N+1, and the last key of a page is the --start of the next.\n\n" + waitText,
		Example:           "  kvctl list jobs/ --separator /\n  kvctl list --values --limit 10",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			prefix := ""
			if len(args) > 0 {
				prefix = args[0]
			}
			switch {
			case o.Limit < 0:
				return usage("--limit %d: must not be negative", o.Limit)
			case values && o.Separator != "":
				return usage("--values and --separator contradict each other: a cut key has no value")
			}
			if err := wait.start(a, cmd); err != nil {
				return err
			}
			return a.read(cmd.Context(), func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
				o.Mode = mode
				if values {
					return a.listEntries(ctx, c, prefix, o, &wait)
				}
				return a.listKeys(ctx, c, prefix, o, &wait)
			})
		},
	}
	wait.add(cmd)
	f := cmd.Flags()
	f.BoolVar(&values, "values", false, "print KEY, a tab and VALUE")
	f.StringVar(&o.Start, "start", "", "first key to print, in the direction of the listing")
	f.IntVar(&o.Limit, "limit", 0, "print at most so many (0: all)")
	f.BoolVar(&o.Reverse, "reverse", false, "print in falling order")
	f.StringVar(&o.Separator, "separator", "", "print keys up to the first separator behind PREFIX, each once")
	return cmd
}

func (a *app) listKeys(ctx context.Context, c *client.Client, prefix string, o client.ListOptions, wait *waitFlags) (client.Meta, error) {
	keys, meta, err := c.KeysWait(ctx, prefix, wait.index, wait.wait, o)
	wait.tell(a, meta)
	if err != nil {
		return meta, err
	}
	return meta, a.print(append([]string{}, keys...), func(w io.Writer) error {
		b := bufio.NewWriter(w)
		for _, k := range keys {
			fmt.Fprintln(b, output.OneLine(k))
		}
		return b.Flush()
	})
}

func (a *app) listEntries(ctx context.Context, c *client.Client, prefix string, o client.ListOptions, wait *waitFlags) (client.Meta, error) {
	entries, meta, err := c.ListWait(ctx, prefix, wait.index, wait.wait, o)
	wait.tell(a, meta)
	if err != nil {
		return meta, err
	}
	out := make([]entry, len(entries))
	for i, e := range entries {
		out[i] = entryJSON(e)
	}
	return meta, a.print(out, func(w io.Writer) error {
		b := bufio.NewWriter(w)
		for _, e := range entries {
			fmt.Fprintf(b, "%s\t%s\n", output.OneLine(e.Key), output.OneLine(string(e.Value)))
		}
		return b.Flush()
	})
}

func newCount(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "count [PREFIX]",
		Short:             "Count keys",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			prefix := ""
			if len(args) > 0 {
				prefix = args[0]
			}
			return a.read(cmd.Context(), func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
				n, meta, err := c.Count(ctx, prefix, client.ReadOptions{Mode: mode})
				if err != nil {
					return meta, err
				}
				return meta, a.print(struct {
					Prefix string `json:"prefix"`
					Count  uint64 `json:"count"`
				}{prefix, n}, func(w io.Writer) error {
					_, err := fmt.Fprintln(w, n)
					return err
				})
			})
		},
	}
}
