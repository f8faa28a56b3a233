package main

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tenure/client"
)

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
			fmt.Fprintln(b, oneLine(k))
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
			fmt.Fprintf(b, "%s\t%s\n", oneLine(e.Key), oneLine(string(e.Value)))
		}
		return b.Flush()
	})
}
