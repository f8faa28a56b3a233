package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

func newDelete(a *app) *cobra.Command {
	var w writeFlags
	var index uint64
	cmd := &cobra.Command{
		Use:     "delete KEY",
		Aliases: []string{"del", "rm"},
		Short:   "Delete a key",
		Long: "delete deletes a key and prints the store's revision after it. That the key is absent already is no failure.\n" +
			"With --cas N it deletes only if the key's modify index is N; else nothing is changed and the exit code is 1.",
		Example:           "  kvctl delete hello\n  kvctl rm hello --cas 17",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			conditional := cmd.Flags().Changed("cas")
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				var revision uint64
				var err error
				if conditional {
					revision, err = c.CompareAndDelete(ctx, args[0], index, w.options())
				} else {
					revision, err = c.Delete(ctx, args[0], w.options())
				}
				if err != nil {
					return notAt(err, index)
				}
				return a.printWritten(args[0], revision)
			})
		},
	}
	cmd.Flags().Var((*decimal)(&index), "cas", "delete only if the key's modify index is this")
	w.add(cmd)
	return cmd
}

func newRemove(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "remove KEY",
		Short: "Delete a key and write the value that it had",
		Long: "remove deletes a key and writes the value that it had to standard output, byte for byte, in one step: of many who\n" +
			"remove a key one gets it. With --json it prints the whole entry. An absent key is exit code 1.",
		Example:           "  kvctl remove queue/1",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				e, _, err := c.Remove(ctx, args[0], w.options())
				if err != nil {
					return err
				}
				return a.print(entryJSON(e), func(w io.Writer) error { return a.writeValue(w, e.Value) })
			})
		},
	}
	w.add(cmd)
	return cmd
}

func newPrune(a *app) *cobra.Command {
	var w writeFlags
	var all bool
	cmd := &cobra.Command{
		Use:   "prune PREFIX",
		Short: "Delete all keys that start with PREFIX",
		Long: "prune deletes all keys that start with PREFIX, in one step, and says how many there were. Deleting every key of\n" +
			"the store takes an empty PREFIX and --all.",
		Example:           "  kvctl prune jobs/2024/",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "" && !all {
				return usage("an empty PREFIX deletes every key of the store; add --all if that is meant")
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				n, revision, err := c.Prune(ctx, args[0], w.options())
				if err != nil {
					return err
				}
				return a.print(struct {
					Prefix   string `json:"prefix"`
					Deleted  uint64 `json:"deleted"`
					Revision uint64 `json:"revision"`
				}{args[0], n, revision}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "deleted %s\n", output.Plural(n, "key"))
					return err
				})
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "an empty PREFIX is meant")
	w.add(cmd)
	return cmd
}

func newExpire(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "expire KEY DURATION|never",
		Short: "Have a key deleted after a time",
		Long: "expire has the key deleted when DURATION has passed (30s, 12h), or with never makes it stay, and prints the\n" +
			"revision. The value stays as it is. The key must exist.",
		Example:           "  kvctl expire seen/here 30s\n  kvctl expire seen/here never",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			var ttl time.Duration
			if args[1] != "never" {
				var err error
				if ttl, err = time.ParseDuration(args[1]); err != nil || ttl <= 0 {
					return usage("DURATION %q: must be a time above 0 with its unit, such as 30s or 12h, or never", args[1])
				}
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				revision, err := c.Expire(ctx, args[0], ttl, w.options())
				if err != nil {
					return err
				}
				return a.printWritten(args[0], revision)
			})
		},
	}
	w.add(cmd)
	return cmd
}
