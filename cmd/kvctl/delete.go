package main

import (
	"context"

	"github.com/spf13/cobra"

	"tenure/client"
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
					revision, err = c.DeleteCAS(ctx, args[0], index, w.options())
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
