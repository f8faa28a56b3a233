package main

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/internal/shown"
)

func newGet(a *app) *cobra.Command {
	var wait waitFlags
	var prefix bool
	cmd := &cobra.Command{
		Use:   "get KEY",
		Short: "Print the value of a key, byte for byte",
		Long: "Write the value of a key to standard output as it is. On a terminal, what the terminal would obey\n" +
			"or not show is escaped, and a line end follows a value that has none. With --json, print the whole\n" +
			"entry, with the value in base64. The exit code is 1 if the key is absent.\n\n" +
			"With --prefix, print all keys that start with KEY and their values, as kvctl list --values does.\n" +
			"Finding none is not an error.\n\n" +
			waitText,
		Example:           "  kvctl get hello\n  kvctl get hello --index 17 --wait 1m\n  kvctl get --prefix jobs/",
		Args:              arguments(1, 1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := wait.start(a, cmd); err != nil {
				return err
			}
			if prefix {
				return a.listEntries(cmd.Context(), args[0], client.ListOptions{}, &wait)
			}
			return a.read(cmd.Context(),
				func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
					e, meta, err := c.GetWait(ctx, args[0], wait.index, wait.wait, client.ReadOptions{Mode: mode})
					wait.note(a, meta)
					if err != nil {
						return meta, err
					}
					return meta, a.printEntry(e)
				})
		},
	}
	wait.addTo(cmd)
	cmd.Flags().BoolVar(&prefix, "prefix", false, "print all keys that start with KEY, and their values")
	return cmd
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
	return entry{
		e.Key, e.Value, e.Flags, e.CreateIndex, e.ModifyIndex, e.LockIndex, e.Session, e.ExpiresIn.Milliseconds(),
	}
}

// printEntry prints the value of a key, or with --json the whole entry.
func (p *printer) printEntry(e client.Entry) error {
	return p.print(entryJSON(e), func(io.Writer) error { return p.printValue(e.Value) })
}

func newList(a *app) *cobra.Command {
	var o client.ListOptions
	var values bool
	var wait waitFlags
	cmd := &cobra.Command{
		Use:     "list [PREFIX]",
		Aliases: []string{"ls"},
		Short:   "List keys in order",
		Long: "Print the keys that start with PREFIX, or all keys, one a line and in order, as they were at one\n" +
			"moment. A key, or with --values a value, that does not fit on one line is printed in quotes.\n" +
			"Finding none is not an error.\n\n" +
			"To page through keys N at a time, list with --limit N+1; the last key is the --start of the next\n" +
			"page (with --json it is the key itself, never one in quotes).\n\n" +
			waitText,
		Example:           "  kvctl list jobs/ --separator /\n  kvctl list --values --limit 10",
		Args:              arguments(0, 1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.Limit < 0:
				return usage("--limit %d: must not be negative", o.Limit)
			case values && o.Separator != "":
				return usage("--values and --separator contradict each other: a cut key has no value")
			}
			if err := wait.start(a, cmd); err != nil {
				return err
			}
			if values {
				return a.listEntries(cmd.Context(), optional(args), o, &wait)
			}
			return a.listKeys(cmd.Context(), optional(args), o, &wait)
		},
	}
	wait.addTo(cmd)
	f := cmd.Flags()
	f.BoolVar(&values, "values", false, "print each key with a tab and its value")
	f.StringVar(&o.Start, "start", "", "first key to print, in the order of the listing")
	f.IntVar(&o.Limit, "limit", 0, "print at most this many (0: all)")
	f.BoolVar(&o.Reverse, "reverse", false, "list in descending order")
	f.StringVar(&o.Separator, "separator", "", "print keys only up to the first separator after PREFIX, each once")
	return cmd
}

func (a *app) listKeys(ctx context.Context, prefix string, o client.ListOptions, wait *waitFlags) error {
	return a.read(ctx, func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
		o.Mode = mode
		keys, meta, err := c.KeysWait(ctx, prefix, wait.index, wait.wait, o)
		wait.note(a, meta)
		if err != nil {
			return meta, err
		}
		a.noteNoKeys(len(keys), prefix)
		return meta, a.print(append([]string{}, keys...), func(w io.Writer) error {
			b := bufio.NewWriter(w)
			for _, k := range keys {
				fmt.Fprintln(b, shown.Line(k))
			}
			return b.Flush()
		})
	})
}

// noteNoKeys tells a person that there are no keys. A script sees that from the empty output.
func (a *app) noteNoKeys(n int, prefix string) {
	if n == 0 && !a.json && a.onTerminal(a.stdout) {
		a.note("no key begins with %s", shown.Word(prefix))
	}
}

func (a *app) listEntries(ctx context.Context, prefix string, o client.ListOptions, wait *waitFlags) error {
	return a.read(ctx, func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
		o.Mode = mode
		entries, meta, err := c.ListWait(ctx, prefix, wait.index, wait.wait, o)
		wait.note(a, meta)
		if err != nil {
			return meta, err
		}
		a.noteNoKeys(len(entries), prefix)
		out := make([]entry, len(entries))
		for i, e := range entries {
			out[i] = entryJSON(e)
		}
		return meta, a.print(out, func(w io.Writer) error {
			b := bufio.NewWriter(w)
			for _, e := range entries {
				fmt.Fprintf(b, "%s\t%s\n", shown.Line(e.Key), shown.Line(string(e.Value)))
			}
			return b.Flush()
		})
	})
}

func newCount(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "count [PREFIX]",
		Short:             "Count the keys that start with PREFIX, or all keys",
		Args:              arguments(0, 1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.read(cmd.Context(),
				func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
					n, meta, err := c.Count(ctx, optional(args), client.ReadOptions{Mode: mode})
					if err != nil {
						return meta, err
					}
					return meta, a.printf(struct {
						Prefix string `json:"prefix"`
						Count  uint64 `json:"count"`
					}{optional(args), n}, "%d\n", n)
				})
		},
	}
}
