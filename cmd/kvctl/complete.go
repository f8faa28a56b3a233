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

// completeKeys offers keys for a verb's first argument, cut at slashes as paths are. Whatever goes wrong it says
// nothing: a message would land in the middle of what is being typed.
func (a *app) completeKeys(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.keysFor(cmd, typed)
}

// completeBothKeys is completeKeys for the first two arguments.
func (a *app) completeBothKeys(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.keysFor(cmd, typed)
}

func (a *app) keysFor(cmd *cobra.Command, typed string) ([]string, cobra.ShellCompDirective) {
	var keys []string
	a.complete(cmd, func(ctx context.Context, c *client.Client) {
		keys, _, _ = c.Keys(ctx, typed, client.ListOptions{Mode: client.Stale, Separator: "/", Limit: completeLimit})
	})
	return keys, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeSessions offers the IDs of sessions, with their names, for a verb's first argument.
func (a *app) completeSessions(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var out []string
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	a.complete(cmd, func(ctx context.Context, c *client.Client) {
		list, _, _ := c.Sessions().List(ctx, client.ReadOptions{Mode: client.Stale})
		for _, s := range list[:min(len(list), completeLimit)] {
			out = append(out, s.ID+"\t"+output.OneLine(s.Name))
		}
	})
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeLeases offers the names of leases that are held, for a verb's first argument.
func (a *app) completeLeases(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var out []string
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	a.complete(cmd, func(ctx context.Context, c *client.Client) {
		p, _ := c.Leases().List(ctx, client.LeaseListOptions{Prefix: typed, Limit: completeLimit})
		for _, l := range p.Leases {
			out = append(out, l.Name+"\t"+output.OneLine(l.Owner))
		}
	})
	return out, cobra.ShellCompDirectiveNoFileComp
}

// complete runs f for as long as somebody waits for a tab.
func (a *app) complete(cmd *cobra.Command, f func(context.Context, *client.Client)) {
	c, err := a.client()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
	defer cancel()
	f(ctx, c)
}
