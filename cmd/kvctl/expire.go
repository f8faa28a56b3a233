package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
)

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
