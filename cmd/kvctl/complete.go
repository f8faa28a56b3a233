package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
)

const (
	completeLimit   = 200
	completeTimeout = time.Second // nobody waits longer for a tab
)

// completeKeys offers keys for a verb's first argument, cut at slashes as paths are.
func (a *app) completeKeys(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := a.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	keys, _, err := c.Keys(ctx, typed, client.ListOptions{Mode: client.Stale, Separator: "/", Limit: completeLimit})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return keys, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
