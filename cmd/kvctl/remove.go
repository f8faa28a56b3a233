package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"tenure/client"
)

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
