package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tenure/client"
)

func newRename(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "rename KEY NEWKEY",
		Short: "Move a key's value to another key",
		Long: "rename moves the value, flags and TTL of a key to another key in one step, overwriting what is there, and prints\n" +
			"the revision. The key must exist. If either is locked, nothing is changed and the exit code is 1.",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeBothKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				revision, err := c.Rename(ctx, args[0], args[1], w.options())
				if errors.Is(err, client.ErrCondition) {
					return fmt.Errorf("%w: one of the keys is locked; nothing was changed", err)
				}
				if err != nil {
					return err
				}
				return a.printWritten(args[1], revision)
			})
		},
	}
	w.add(cmd)
	return cmd
}
