package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
	"tenure/internal/days"
)

func newDelete(a *app) *cobra.Command {
	var w writeFlags
	var index uint64
	cmd := &cobra.Command{
		Use:     "delete KEY",
		Aliases: []string{"del", "rm"},
		Short:   "Delete a key",
		Long: "Delete a key and print the store's revision. Deleting an absent key succeeds.\n\n" +
			"With --cas N, delete the key only if its modify index is N; otherwise nothing is changed and the\n" +
			"exit code is 1.",
		Example:           "  kvctl delete hello\n  kvctl rm hello --cas 17",
		Args:              arguments(1, 1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			conditional := cmd.Flags().Changed("cas")
			return a.writeKey(cmd.Context(), args[0], func(ctx context.Context, c *client.Client) (uint64, error) {
				if !conditional {
					return c.Delete(ctx, args[0], w.options())
				}
				revision, err := c.CompareAndDelete(ctx, args[0], index, w.options())
				return revision, conditionError(err, index)
			})
		},
	}
	cmd.Flags().Var((*decimal)(&index), "cas", "delete the key only if its modify index is this")
	w.addTo(cmd)
	return cmd
}

func newRemove(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "remove KEY",
		Short: "Delete a key and print the value it had",
		Long: "Delete a key and write the value it had to standard output, byte for byte, in one step: of several\n" +
			"clients that remove a key, one gets the value. With --json, print the whole entry. The exit code\n" +
			"is 1 if the key is absent.",
		Example:           "  kvctl remove queue/1",
		Args:              arguments(1, 1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				e, _, err := c.Remove(ctx, args[0], w.options())
				if err != nil {
					return err
				}
				return a.printEntry(e)
			})
		},
	}
	w.addTo(cmd)
	return cmd
}

func newPrune(a *app) *cobra.Command {
	var w writeFlags
	var all bool
	cmd := &cobra.Command{
		Use:   "prune PREFIX",
		Short: "Delete all keys that start with PREFIX",
		Long: "Delete all keys that start with PREFIX, in one step, and print how many there were. To delete\n" +
			"every key of the store, give an empty PREFIX and --all.",
		Example:           "  kvctl prune jobs/2024/",
		Args:              arguments(1, 1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "" && !all {
				return usage("an empty PREFIX deletes every key of the store; add --all to do that")
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				n, revision, err := c.Prune(ctx, args[0], w.options())
				if err != nil {
					return err
				}
				return a.printf(struct {
					Prefix   string `json:"prefix"`
					Deleted  uint64 `json:"deleted"`
					Revision uint64 `json:"revision"`
				}{args[0], n, revision}, "deleted %s\n", output.Plural(n, "key"))
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "allow an empty PREFIX, which deletes every key")
	w.addTo(cmd)
	return cmd
}

func newExpire(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "expire KEY DURATION|never",
		Short: "Set when a key is deleted by itself",
		Long: "Have a key deleted after DURATION (such as 30s, 12h or 7d), or with never keep it, and print the\n" +
			"revision. The value does not change. The key must exist.",
		Example:           "  kvctl expire seen/here 30s\n  kvctl expire seen/here never",
		Args:              arguments(2, 2),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			var ttl time.Duration
			if args[1] != "never" {
				var err error
				switch ttl, err = days.Parse(args[1]); {
				case err != nil:
					return usage("DURATION: %v; or never", err)
				case ttl == 0:
					return usage("DURATION %q: must be never, or a time above 0 with its unit, such as 30s, 12h or 7d",
						args[1])
				}
			}
			return a.writeKey(cmd.Context(), args[0], func(ctx context.Context, c *client.Client) (uint64, error) {
				return c.Expire(ctx, args[0], ttl, w.options())
			})
		},
	}
	w.addTo(cmd)
	return cmd
}
