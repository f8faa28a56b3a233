package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"tenure/client"
)

func newAdd(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "add KEY NUMBER",
		Short: "Add to the number that a key holds",
		Long: "add adds NUMBER to the decimal number that the key holds, in one step, and prints the sum. The key must exist.\n" +
			"A NUMBER that begins with - goes behind --.",
		Example:           "  kvctl add visits 1\n  kvctl add -- stock -3",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil {
				return usage("NUMBER %q: must be a decimal number of at most 64 bits", args[1])
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				sum, revision, err := c.Add(ctx, args[0], n, w.options())
				if err != nil {
					return err
				}
				return a.print(struct {
					Key      string `json:"key"`
					Value    int64  `json:"value"`
					Revision uint64 `json:"revision"`
				}{args[0], sum, revision}, func(w io.Writer) error {
					_, err := fmt.Fprintln(w, sum)
					return err
				})
			})
		},
	}
	w.add(cmd)
	return cmd
}
