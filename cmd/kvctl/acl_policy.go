package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/internal/completion"
	"tenure/internal/shown"
)

func newACLPolicy(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "policy",
		Short: "Sets of rules, by name",
		Long: "Make, show and change policies. The language of the rules is in docs/security.md; a change counts\n" +
			"at once for every token that has the policy.",
	}, newPolicyCreate(a), newPolicyRead(a), newPolicyList(a), newPolicyUpdate(a), newPolicyDelete(a))
}

const rulesUsage = "the rules: FILE, @FILE, or - for standard input"

func newPolicyCreate(a *app) *cobra.Command {
	var w writeFlags
	var p client.PolicySpec
	var rules string
	cmd := &cobra.Command{
		Use:   "create --name NAME --rules FILE",
		Short: "Make a policy",
		Example: "  kvctl acl policy create --name app --rules app.hcl\n" +
			"  echo 'key_prefix \"app/\" { policy = \"read\" }' | kvctl acl policy create --name reader --rules -",
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if p.Name == "" {
				return usage("a policy needs a name: --name NAME")
			}
			ctx, cancel := a.bounded(cmd)
			defer cancel()
			if p.Rules, err = a.rules(ctx, rules); err != nil {
				return err
			}
			return a.write(ctx, func(ctx context.Context, c *client.Client) error {
				return a.printPolicy(c.ACL().CreatePolicy(ctx, p, client.WriteOptions{Once: w.once}))
			})
		},
	}
	cmd.Flags().StringVar(&p.Name, "name", "", "name of the policy: letters, digits, - and _")
	cmd.Flags().StringVar(&p.Description, "description", "", "what it is for")
	cmd.Flags().StringVar(&rules, "rules", "", rulesUsage)
	consulFormat(a, cmd)
	w.addOnceTo(cmd)
	return cmd
}

// rules returns the rules that the argument names. Text with an = or a brace is rules itself, as Consul takes it.
func (a *app) rules(ctx context.Context, arg string) (string, error) {
	switch {
	case arg == "" || strings.ContainsAny(arg, "={"):
		return arg, nil
	case arg == "@":
		return "", usage("--rules @: the name of the file is missing")
	}
	return a.readSmall(ctx, strings.TrimPrefix(arg, "@"))
}

func newPolicyRead(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "read NAME|ID",
		Aliases:           []string{"show"},
		Short:             "Show a policy",
		Args:              arguments(0, 1),
		ValidArgsFunction: a.completePolicies,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.read(cmd.Context(),
				func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
					p, meta, err := policyGiven(ctx, cmd, c, args, client.ReadOptions{Mode: mode})
					return meta, a.printPolicy(p, err)
				})
		},
	}
	whichPolicy(cmd)
	consulFormat(a, cmd)
	return cmd
}

// whichPolicy gives cmd the flags by which Consul's command line names a policy.
func whichPolicy(cmd *cobra.Command) {
	cmd.Flags().String("id", "", "ID of the policy")
	cmd.Flags().String("name", "", "name of the policy")
}

// policyGiven returns the policy that the command line names.
func policyGiven(
	ctx context.Context, cmd *cobra.Command, c *client.Client, args []string, o client.ReadOptions,
) (client.Policy, client.Meta, error) {
	given, err := oneOf(cmd, "policy", args, "id", "name")
	if err != nil {
		return client.Policy{}, client.Meta{}, err
	}
	if cmd.Flags().Changed("id") || !cmd.Flags().Changed("name") && uuid.Validate(given) == nil {
		return c.ACL().Policy(ctx, given, o)
	}
	return c.ACL().PolicyByName(ctx, given, o)
}

func newPolicyList(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the policies",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.read(cmd.Context(),
				func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
					list, meta, err := c.ACL().Policies(ctx, client.ReadOptions{Mode: mode})
					if err != nil {
						return meta, err
					}
					var rows [][]string
					for _, p := range list {
						rows = append(rows, []string{shown.Line(p.Name), p.ID, shown.Line(p.Description)})
					}
					return meta, a.print(list, func(w io.Writer) error {
						return table(w, []string{"NAME", "ID", "DESCRIPTION"}, rows)
					})
				})
		},
	}
	consulFormat(a, cmd)
	return cmd
}

func newPolicyDelete(a *app) *cobra.Command {
	var cas uint64
	cmd := &cobra.Command{
		Use:               "delete NAME|ID",
		Aliases:           []string{"rm"},
		Short:             "End a policy, for every token that has it",
		Args:              arguments(0, 1),
		ValidArgsFunction: a.completePolicies,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkCAS(cmd, cas); err != nil {
				return err
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				return a.deletePolicy(ctx, c, cmd, args, cas)
			})
		},
	}
	whichPolicy(cmd)
	addCAS(cmd, &cas, "delete the policy")
	return cmd
}

// deletePolicy ends the policy that the command line names. It is conditional because a name may go over to another
// policy between the two requests.
func (a *app) deletePolicy(
	ctx context.Context, c *client.Client, cmd *cobra.Command, args []string, cas uint64,
) error {
	read := func() (client.Policy, error) {
		p, _, err := policyGiven(ctx, cmd, c, args, client.ReadOptions{})
		return p, err
	}
	p, err := read()
	if err != nil {
		return err
	}
	change := aclChange[client.Policy]{first: p, again: read, shown: policyShown, cas: cas,
		clash: func(_, _ client.Policy) string { return "" },
		write: func(now client.Policy, o client.WriteOptions) error {
			if err := c.ACL().DeletePolicy(ctx, now.ID, o); err != nil {
				return err
			}
			return a.printf(deletedID{now.ID}, "policy %s deleted\n", shown.Line(now.Name))
		}}
	return change.run()
}

// deletedID is the output about what was deleted, with --json.
type deletedID struct {
	ID string `json:"deleted"`
}

// printPolicy prints x as Consul's command line does. Like printToken and printGrant it returns err if there is one: it
// takes what a call to the cluster returns.
func (p *printer) printPolicy(x client.Policy, err error) error {
	if err != nil {
		return err
	}
	return p.print(x, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "ID:           %s\nName:         %s\nDescription:  %s\nRules:\n%s\n", x.ID,
			shown.Line(x.Name), shown.Line(x.Description), strings.TrimRight(x.Rules, "\n"))
		return err
	})
}

// completePolicies completes the name of a policy as the first argument.
func (k *connection) completePolicies(
	cmd *cobra.Command, args []string, _ string,
) ([]string, cobra.ShellCompDirective) {
	return k.complete(cmd, args, func(ctx context.Context, c *client.Client) (out []completion.Candidate) {
		list, _, _ := c.ACL().Policies(ctx, client.ReadOptions{Mode: client.Stale})
		for _, p := range list {
			out = append(out, completion.Candidate{Name: p.Name, About: p.Description})
		}
		return out
	})
}
