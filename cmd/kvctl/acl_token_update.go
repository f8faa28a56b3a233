package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"tenure/client"
)

// tokenChange is what kvctl acl token update is to change.
type tokenChange struct {
	description  string
	name         string
	certificate  string
	set, add     links
	merge, clear bool
	cas          uint64
}

func newTokenUpdate(a *app) *cobra.Command {
	var change tokenChange
	cmd := &cobra.Command{
		Use:   "update ACCESSOR",
		Short: "Change the policies, the name or the description of a token",
		Long: "Change a token. What is not given stays as it is; --policy-name and --policy-id replace all\n" +
			"policies that the token has, and those with --append- in front are added to them.\n\n" +
			"What somebody else changes at the same time is kept; if that is the same field, nothing is changed\n" +
			"and the exit code is 1. To be sure of a longer time, give the modify index that was seen with --cas.",
		Args:              arguments(0, 1),
		ValidArgsFunction: a.completeTokens,
		RunE: func(cmd *cobra.Command, args []string) error {
			accessor, err := tokenGiven(cmd, args)
			if err == nil {
				err = checkCAS(cmd, change.cas)
			}
			if err != nil {
				return err
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				return a.updateToken(ctx, c, cmd, accessor, &change)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&change.name, "name", "", "new name")
	f.StringVar(&change.description, "description", "", "new description")
	f.StringVar(&change.certificate, "certificate", "", "client certificate that is to stand for it")
	change.set.addTo(f, "", "policy that it is to have")
	change.add.addTo(f, "append-", "policy that it is to have besides")
	f.BoolVar(&change.clear, "no-policies", false, "take all policies from it")
	f.BoolVar(&change.merge, "merge-policies", false, "as if the policies were given with --append-")
	_ = f.MarkHidden("merge-policies") // the flag exists
	addCAS(cmd, &change.cas, "change the token")
	whichToken(cmd)
	consulFormat(a, cmd)
	return cmd
}

// updateToken makes the change x, and prints the token.
func (a *app) updateToken(
	ctx context.Context, c *client.Client, cmd *cobra.Command, accessor string, x *tokenChange,
) error {
	read := func() (client.Token, error) {
		t, _, err := c.ACL().Token(ctx, accessor, client.ReadOptions{})
		return t, err
	}
	t, err := read()
	if err != nil {
		return err
	}
	change := aclChange[client.Token]{first: t, again: read, shown: tokenShown, cas: x.cas,
		clash: func(first, now client.Token) string { return x.clash(cmd, first, now) },
		write: func(now client.Token, o client.WriteOptions) error {
			return a.printToken(c.ACL().UpdateToken(ctx, x.applied(cmd, now), o))
		}}
	return change.run()
}

// replacesPolicies reports whether the token is to lose the policies that it has.
func (x *tokenChange) replacesPolicies() bool { return x.clear || len(x.set.list()) > 0 && !x.merge }

// clash says what both this change and somebody else replace.
func (x *tokenChange) clash(cmd *cobra.Command, first, now client.Token) string {
	given := cmd.Flags().Changed
	return differ(changedField{"name", given("name"), first.Name != now.Name},
		changedField{"description", given("description"), first.Description != now.Description},
		changedField{"certificate", given("certificate"), first.Certificate != now.Certificate},
		changedField{"policies", x.replacesPolicies(), !slices.EqualFunc(first.Policies, now.Policies,
			func(a, b client.PolicyLink) bool { return a.ID == b.ID })})
}

// applied returns what the token t is to be.
func (x *tokenChange) applied(cmd *cobra.Command, t client.Token) client.TokenSpec {
	out := client.TokenSpec{AccessorID: t.AccessorID, Name: t.Name, Description: t.Description, Policies: t.Policies,
		Local: t.Local, Certificate: t.Certificate}
	if cmd.Flags().Changed("name") {
		out.Name = x.name
	}
	if cmd.Flags().Changed("description") {
		out.Description = x.description
	}
	if cmd.Flags().Changed("certificate") {
		out.Certificate = x.certificate
	}
	if x.replacesPolicies() {
		out.Policies = nil
	}
	out.Policies = append(append(slices.Clone(out.Policies), x.set.list()...), x.add.list()...)
	return out
}
