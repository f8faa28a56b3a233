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

// completeKeys completes a key as the first argument. Keys are cut at slashes, as paths are. Errors are not reported: a
// message would appear in the middle of the command line.
func (k *connection) completeKeys(
	cmd *cobra.Command, args []string, typed string,
) ([]string, cobra.ShellCompDirective) {
	return k.completeKeysTo(1, cmd, args, typed)
}

// completeBothKeys is completeKeys for the first two arguments.
func (k *connection) completeBothKeys(
	cmd *cobra.Command, args []string, typed string,
) ([]string, cobra.ShellCompDirective) {
	return k.completeKeysTo(2, cmd, args, typed)
}

func (k *connection) completeKeysTo(
	most int, cmd *cobra.Command, args []string, typed string,
) (keys []string, _ cobra.ShellCompDirective) {
	if len(args) >= most {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	k.complete(cmd, func(ctx context.Context, c *client.Client) {
		keys, _, _ = c.Keys(ctx, typed, client.ListOptions{Mode: client.Stale, Separator: "/", Limit: completeLimit})
	})
	return keys, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeSessions completes the ID of a session as the first argument, and shows the sessions' names.
func (k *connection) completeSessions(
	cmd *cobra.Command, args []string, _ string,
) (out []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	k.complete(cmd, func(ctx context.Context, c *client.Client) {
		list, _, _ := c.Sessions().List(ctx, client.ReadOptions{Mode: client.Stale})
		for _, s := range list[:min(len(list), completeLimit)] {
			out = append(out, s.ID+"\t"+output.OneLine(s.Name))
		}
	})
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeLeases completes the name of a lease that is held as the first argument, and shows the owners.
func (k *connection) completeLeases(
	cmd *cobra.Command, args []string, typed string,
) (out []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	k.complete(cmd, func(ctx context.Context, c *client.Client) {
		p, _ := c.Leases().List(ctx, client.LeaseListOptions{Prefix: typed, Limit: completeLimit})
		for _, l := range p.Leases {
			out = append(out, l.Name+"\t"+output.OneLine(l.Owner))
		}
	})
	return out, cobra.ShellCompDirectiveNoFileComp
}

// complete runs f with the time limit of a completion.
func (k *connection) complete(cmd *cobra.Command, f func(context.Context, *client.Client)) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	c, err := k.client(ctx)
	if err != nil {
		return
	}
	f(ctx, c)
}
