package main

import (
	"cmp"
	"context"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/internal/completion"
	"tenure/internal/shown"
)

const (
	completeLimit   = 200
	completeTimeout = time.Second // nobody waits longer for a tab
)

// completeKeys completes a key as the first argument. Keys are cut at slashes, as paths are.
func (k *connection) completeKeys(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	keys, directive := k.complete(cmd, args, func(ctx context.Context, c *client.Client) (out []completion.Candidate) {
		keys, _, _ := c.Keys(ctx, typed, client.ListOptions{Mode: client.Stale, Separator: "/", Limit: completeLimit})
		for _, key := range keys {
			out = append(out, completion.Candidate{Name: key})
		}
		return out
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
	return k.complete(cmd, args, func(ctx context.Context, c *client.Client) (out []completion.Candidate) {
		list, _, _ := c.Sessions().List(ctx, client.ReadOptions{Mode: client.Stale})
		for _, s := range list {
			out = append(out, completion.Candidate{Name: s.ID, About: s.Name})
		}
		return out
	})
}

func (k *connection) completeLeases(
	cmd *cobra.Command, args []string, typed string,
) ([]string, cobra.ShellCompDirective) {
	return k.complete(cmd, args, func(ctx context.Context, c *client.Client) (out []completion.Candidate) {
		p, _ := c.Leases().List(ctx, client.LeaseListOptions{Prefix: typed, Limit: completeLimit})
		for _, l := range p.Leases {
			out = append(out, completion.Candidate{Name: l.Name, About: l.Owner})
		}
		return out
	})
}

// completeMembers completes a node as the first argument, or as the value of a flag of a command without arguments: by
// its name if it has one.
func (k *connection) completeMembers(
	cmd *cobra.Command, args []string, _ string,
) ([]string, cobra.ShellCompDirective) {
	return k.complete(cmd, args, func(ctx context.Context, c *client.Client) (out []completion.Candidate) {
		list, _ := c.Members().List(ctx)
		for _, m := range list.Members {
			number := strconv.FormatUint(m.Node, 10)
			about := "node " + number + ", " + roleOf(m, list)
			out = append(out, completion.Candidate{Name: cmp.Or(m.Name, number), About: about})
		}
		return out
	})
}

// flagOfMembers has the values of a flag completed as members are.
func (k *connection) flagOfMembers(cmd *cobra.Command, flag string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, k.completeMembers); err != nil {
		panic(err) // it is not defined
	}
}

// complete completes the first argument by what find finds. The scripts of package completion get the names past package
// cobra, which changes some. Scripts of cobra's own, which somebody may still have, get only names in which a shell finds
// nothing to evaluate. Errors are not reported: a message would appear in the middle of the command line.
func (k *connection) complete(
	cmd *cobra.Command, args []string, find func(context.Context, *client.Client) []completion.Candidate,
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
	found := find(ctx, c)
	if found = found[:min(len(found), completeLimit)]; k.completing {
		k.found = found
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, f := range found {
		if shown.Word(f.Name) == f.Name && f.Name[0] != '-' {
			out = append(out, f.Name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// candidates returns what may stand at the cursor behind words.
func candidates(ctx context.Context, environ, words []string, current string) completion.Answer {
	a := newApp(environ, nil, io.Discard, io.Discard)
	a.completing = true
	defer a.close()
	answer := completion.Of(ctx, newRoot(a), words, current)
	answer.Candidates = append(answer.Candidates, completion.Names(a.found, words)...)
	return answer
}
