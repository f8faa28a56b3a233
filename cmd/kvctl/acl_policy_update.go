package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"tenure/client"
)

// policyChange is what kvctl acl policy update is to change.
type policyChange struct {
	rules       string // as the flag has it
	text        string // the rules that it stands for
	description string
	name        string
	cas         uint64
}

func newPolicyUpdate(a *app) *cobra.Command {
	var x policyChange
	cmd := &cobra.Command{
		Use:   "update NAME|ID",
		Short: "Change the rules, the name or the description of a policy",
		Long: "Change a policy. What is not given stays as it is. With --id, --name is the new name; without,\n" +
			"it says which policy is meant, and --new-name is the new one.\n\n" +
			"What somebody else changes at the same time is kept; if that is the same field, nothing is changed\n" +
			"and the exit code is 1. To be sure of a longer time, since the rules were read and edited, give their\n" +
			"modify index with --cas.",
		Example: "  kvctl acl policy update app --rules app.hcl\n" +
			"  kvctl acl policy update app --rules app.hcl --cas \"$(jq .ModifyIndex app.json)\"",
		Args:              arguments(0, 1),
		ValidArgsFunction: a.completePolicies,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkCAS(cmd, x.cas); err != nil {
				return err
			}
			ctx, cancel := a.bounded(cmd)
			defer cancel()
			text, err := a.rules(ctx, x.rules)
			if err != nil {
				return err
			}
			x.text = text
			return a.write(ctx, func(ctx context.Context, c *client.Client) error {
				return a.updatePolicy(ctx, c, cmd, args, x)
			})
		},
	}
	whichPolicy(cmd)
	cmd.Flags().StringVar(&x.name, "new-name", "", "new name")
	cmd.Flags().StringVar(&x.description, "description", "", "new description")
	cmd.Flags().StringVar(&x.rules, "rules", "", rulesUsage)
	addCAS(cmd, &x.cas, "change the policy")
	consulFormat(a, cmd)
	return cmd
}

// updatePolicy makes the change x, and prints the policy.
func (a *app) updatePolicy(
	ctx context.Context, c *client.Client, cmd *cobra.Command, args []string, x policyChange,
) error {
	p, renamed, err := policyToUpdate(ctx, cmd, c, args)
	if err != nil {
		return err
	}
	x.name += renamed
	change := aclChange[client.Policy]{first: p, shown: policyShown, cas: x.cas,
		again: func() (client.Policy, error) { // whatever its name is by then
			now, _, err := c.ACL().Policy(ctx, p.ID, client.ReadOptions{})
			return now, err
		},
		clash: func(first, now client.Policy) string { return x.clash(cmd, first, now) },
		write: func(now client.Policy, o client.WriteOptions) error {
			return a.printPolicy(c.ACL().UpdatePolicy(ctx, p.ID, x.applied(cmd, now), o))
		}}
	return change.run()
}

// applied returns what policy p is to be.
func (x *policyChange) applied(cmd *cobra.Command, p client.Policy) client.PolicySpec {
	out := client.PolicySpec{Name: cmp.Or(x.name, p.Name), Description: p.Description, Rules: p.Rules}
	if cmd.Flags().Changed("rules") {
		out.Rules = x.text
	}
	if cmd.Flags().Changed("description") {
		out.Description = x.description
	}
	return out
}

// clash says what both this change and somebody else replace.
func (x *policyChange) clash(cmd *cobra.Command, first, now client.Policy) string {
	return differ(changedField{"rules", cmd.Flags().Changed("rules"), first.Rules != now.Rules},
		changedField{"name", x.name != "", first.Name != now.Name},
		changedField{"description", cmd.Flags().Changed("description"), first.Description != now.Description})
}

// policyToUpdate returns the policy that the command line names, and with --id what --name says, as Consul has it.
func policyToUpdate(
	ctx context.Context, cmd *cobra.Command, c *client.Client, args []string,
) (p client.Policy, renamed string, err error) {
	f := cmd.Flags()
	if f.Changed("id") && f.Changed("name") && !f.Changed("new-name") && len(args) == 0 {
		id, _ := f.GetString("id")
		renamed, _ = f.GetString("name")
		p, _, err = c.ACL().Policy(ctx, id, client.ReadOptions{})
		return p, renamed, err
	}
	p, _, err = policyGiven(ctx, cmd, c, args, client.ReadOptions{})
	return p, "", err
}
