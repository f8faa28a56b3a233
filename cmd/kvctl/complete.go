package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

const (
	completeLimit   = 200
	completeTimeout = time.Second // nobody waits longer for a tab
)

// completeKeys completes a key as the first argument. Keys are cut at slashes, as paths are.
func (k *connection) completeKeys(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	keys, directive := k.complete(cmd, args, func(ctx context.Context, c *client.Client) []string {
		keys, _, _ := c.Keys(ctx, typed, client.ListOptions{Mode: client.Stale, Separator: "/", Limit: completeLimit})
		return keys
	})
	return keys, directive | cobra.ShellCompDirectiveNoSpace
}

// completeBothKeys is completeKeys for the first two arguments.
func (k *connection) completeBothKeys(
	cmd *cobra.Command, args []string, typed string,
) ([]string, cobra.ShellCompDirective) {
	return k.completeKeys(cmd, args[min(len(args), 1):], typed)
}

func (k *connection) completeSessions(
	cmd *cobra.Command, args []string, _ string,
) ([]string, cobra.ShellCompDirective) {
	return k.complete(cmd, args, func(ctx context.Context, c *client.Client) (out []string) {
		list, _, _ := c.Sessions().List(ctx, client.ReadOptions{Mode: client.Stale})
		for _, s := range list {
			out = append(out, s.ID+"\t"+output.OneLine(s.Name))
		}
		return out
	})
}

func (k *connection) completeLeases(
	cmd *cobra.Command, args []string, typed string,
) ([]string, cobra.ShellCompDirective) {
	return k.complete(cmd, args, func(ctx context.Context, c *client.Client) (out []string) {
		p, _ := c.Leases().List(ctx, client.LeaseListOptions{Prefix: typed, Limit: completeLimit})
		for _, l := range p.Leases {
			out = append(out, l.Name+"\t"+output.OneLine(l.Owner))
		}
		return out
	})
}

// complete completes the first argument by what find finds. Errors are not reported: a message would appear in the
// middle of the command line.
func (k *connection) complete(
	cmd *cobra.Command, args []string, find func(context.Context, *client.Client) []string,
) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := k.client(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	out := find(ctx, c)
	return out[:min(len(out), completeLimit)], cobra.ShellCompDirectiveNoFileComp
}
