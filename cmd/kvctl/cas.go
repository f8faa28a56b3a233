package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"tenure/client"
)

func newCAS(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "cas KEY INDEX VALUE|-",
		Short: "Write a key if nobody has since INDEX",
		Long: "cas writes a key if its modify index (see get --json) is INDEX, or if INDEX is 0 and the key is absent. It prints\n" +
			"the revision of the write, which is the new modify index. If the key is not at INDEX, nothing is changed and the\n" +
			"exit code is 1. A VALUE of - is read from standard input.",
		Example:           "  kvctl cas config 0 first\n  kvctl cas config 17 second",
		Args:              cobra.ExactArgs(3),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			index, err := strconv.ParseUint(args[1], 10, 64)
			if err != nil {
				return usage("INDEX %q: must be a number from 0 up", args[1])
			}
			value, err := a.value(args[2])
			if err != nil {
				return err
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				revision, err := c.CAS(ctx, args[0], value, index, w.options())
				if err != nil {
					return notAt(err, index)
				}
				return a.printWritten(args[0], revision)
			})
		},
	}
	w.add(cmd)
	w.addFlags(cmd)
	return cmd
}
