package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tenure/client"
)

func newTestAndSet(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "test-and-set KEY TEST VALUE|-",
		Short: "Write a key if it holds TEST",
		Long: "test-and-set writes VALUE if the key holds TEST, and prints the revision of the write. If it holds another value,\n" +
			"that is told, nothing is changed and the exit code is 1. A VALUE of - is read from standard input.",
		Example:           "  kvctl test-and-set switch off on",
		Args:              cobra.ExactArgs(3),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			value, err := a.value(args[2])
			if err != nil {
				return err
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				now, revision, err := c.TestAndSet(ctx, args[0], []byte(args[1]), value, w.options())
				if errors.Is(err, client.ErrCondition) {
					return fmt.Errorf("%w: %s; nothing was changed", err, oneLine(string(now)))
				}
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
