package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"tenure/client"
)

func newCount(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "count [PREFIX]",
		Short:             "Count keys",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			prefix := ""
			if len(args) > 0 {
				prefix = args[0]
			}
			return a.read(cmd.Context(), func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
				n, meta, err := c.Count(ctx, prefix, client.ReadOptions{Mode: mode})
				if err != nil {
					return meta, err
				}
				return meta, a.print(struct {
					Prefix string `json:"prefix"`
					Count  uint64 `json:"count"`
				}{prefix, n}, func(w io.Writer) error {
					_, err := fmt.Fprintln(w, n)
					return err
				})
			})
		},
	}
}
