package main

import (
	"context"

	"github.com/spf13/cobra"

	"tenure/client"
)

func newSet(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "set KEY VALUE|-",
		Short: "Write a key",
		Long: "set writes a key and prints the revision of the write. A VALUE of - is read from standard input. A VALUE that\n" +
			"begins with - goes behind --.",
		Example:           "  kvctl set hello world\n  kvctl set photo - <photo.jpg\n  kvctl set -- balance -5",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			value, err := a.value(args[1])
			if err != nil {
				return err
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				revision, err := c.Put(ctx, args[0], value, w.options())
				if err != nil {
					return err
				}
				return a.printWritten(args[0], revision)
			})
		},
	}
	w.add(cmd)
	w.addFlags(cmd)
	return cmd
}
