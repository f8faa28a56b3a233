package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tenure/client"
)

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
					_, err := fmt.Fprintf(w, "deleted %s\n", plural(n, "key"))
					return err
				})
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "an empty PREFIX is meant")
	w.add(cmd)
	return cmd
}
