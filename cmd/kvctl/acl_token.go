package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/internal/completion"
	"tenure/internal/shown"
)

func newACLToken(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "token",
		Short: "What clients show to be allowed something",
		Long: "Make, show and change tokens. A token is called by its accessor ID. Its secret ID is what a client\n" +
			"shows; it is printed once, when the token is made, and the cluster keeps a hash only.",
	}, newTokenCreate(a), newTokenRead(a), newTokenSelf(a), newTokenList(a), newTokenUpdate(a), newTokenClone(a),
		newTokenDelete(a))
}

func newTokenCreate(a *app) *cobra.Command {
	var w writeFlags
	var t client.TokenSpec
	var policies links
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a token, and print its secret",
		Example: "  kvctl acl token create --description 'web servers' --policy-name app\n" +
			"  kvctl acl token create --policy-name reader --expires-ttl 24h --json | jq -r .SecretID",
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if t.TTL < 0 {
				return usage("--expires-ttl %v: must not be negative", t.TTL)
			}
			t.Policies = policies.list()
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				return a.printToken(c.ACL().CreateToken(ctx, t, client.WriteOptions{Once: w.once}))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&t.Name, "name", "", "name of the token")
	f.StringVar(&t.Description, "description", "", "what it is for")
	policies.addTo(f, "", "policy that it has")
	durationVar(f, &t.TTL, "expires-ttl", 0, "how long it lives (0: until it is deleted)")
	f.StringVar(&t.Certificate, "certificate", "",
		"client certificate that stands for it: a URI in it, such as tenure://prod/client/app, or its common name")
	f.StringVar(&t.AccessorID, "accessor", "", "accessor ID, a UUID, rather than one that is drawn")
	f.StringVar(&t.SecretID, "secret", "", "secret ID, a UUID, rather than one that is drawn")
	consulFormat(a, cmd)
	return cmd
}

func newTokenRead(a *app) *cobra.Command {
	var self, expanded bool
	cmd := &cobra.Command{
		Use:               "read ACCESSOR",
		Aliases:           []string{"show"},
		Short:             "Show a token, without its secret",
		Args:              arguments(0, 1),
		ValidArgsFunction: a.completeTokens,
		RunE: func(cmd *cobra.Command, args []string) error {
			if self {
				return a.showSelf(cmd)
			}
			accessor, err := tokenGiven(cmd, args)
			if err != nil {
				return err
			}
			return a.read(cmd.Context(),
				func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
					if !expanded {
						t, meta, err := c.ACL().Token(ctx, accessor, client.ReadOptions{Mode: mode})
						return meta, a.printToken(t, err)
					}
					t, meta, err := c.ACL().TokenExpanded(ctx, accessor, client.ReadOptions{Mode: mode})
					if err != nil {
						return meta, err
					}
					return meta, a.printExpanded(t)
				})
		},
	}
	cmd.Flags().BoolVar(&self, "self", false, "the token that this command uses")
	cmd.Flags().BoolVar(&expanded, "expanded", false, "with the rules of its policies")
	whichToken(cmd)
	consulFormat(a, cmd)
	return cmd
}

func newTokenSelf(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "self",
		Short: "Show the token that this command uses",
		Args:  arguments(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.showSelf(cmd) },
	}
	consulFormat(a, cmd)
	return cmd
}

func (a *app) showSelf(cmd *cobra.Command) error {
	return a.read(cmd.Context(),
		func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
			t, meta, err := c.ACL().Self(ctx, client.ReadOptions{Mode: mode})
			return meta, a.printToken(t, err)
		})
}

// whichToken gives cmd the flags by which Consul's command line names a token.
func whichToken(cmd *cobra.Command) {
	cmd.Flags().String("accessor-id", "", "accessor ID of the token")
	cmd.Flags().String("id", "", "the same")
	_ = cmd.Flags().MarkHidden("id") // the flag exists
}

// tokenGiven returns the accessor that the command line names.
func tokenGiven(cmd *cobra.Command, args []string) (string, error) {
	return oneOf(cmd, "token", args, "accessor-id", "id")
}

func newTokenList(a *app) *cobra.Command {
	var policy string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the tokens, without their secrets",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.read(cmd.Context(),
				func(ctx context.Context, c *client.Client, mode client.Mode) (client.Meta, error) {
					list, meta, err := c.ACL().Tokens(ctx, policy, client.ReadOptions{Mode: mode})
					if err != nil {
						return meta, err
					}
					return meta, a.printTokens(list)
				})
		},
	}
	cmd.Flags().StringVar(&policy, "policy-id", "", "only tokens that have this policy")
	consulFormat(a, cmd)
	return cmd
}

func newTokenClone(a *app) *cobra.Command {
	var w writeFlags
	var description string
	cmd := &cobra.Command{
		Use:   "clone ACCESSOR",
		Short: "Make a token with the policies of another one, and print its secret",
		Long: "Make a token with the policies, the name and the description of another one, and print its secret.\n" +
			"If the other one expires, the new one expires at the same time. A client certificate goes on standing\n" +
			"for the other one.",
		Args:              arguments(0, 1),
		ValidArgsFunction: a.completeTokens,
		RunE: func(cmd *cobra.Command, args []string) error {
			accessor, err := tokenGiven(cmd, args)
			if err != nil {
				return err
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				return a.printToken(c.ACL().CloneToken(ctx, accessor, description, client.WriteOptions{Once: w.once}))
			})
		},
	}
	cmd.Flags().StringVar(&description, "description", "", "what it is for, if not what the other one is")
	whichToken(cmd)
	consulFormat(a, cmd)
	return cmd
}

func newTokenDelete(a *app) *cobra.Command {
	var cas uint64
	cmd := &cobra.Command{
		Use:               "delete ACCESSOR",
		Aliases:           []string{"rm"},
		Short:             "End a token: its holder is refused at once",
		Args:              arguments(0, 1),
		ValidArgsFunction: a.completeTokens,
		RunE: func(cmd *cobra.Command, args []string) error {
			accessor, err := tokenGiven(cmd, args)
			if err == nil {
				err = checkCAS(cmd, cas)
			}
			if err != nil {
				return err
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				// The deletion of a token that there is not succeeds. A mistyped accessor must not look like that.
				t, _, err := c.ACL().Token(ctx, accessor, client.ReadOptions{})
				if err != nil {
					return err
				}
				err = c.ACL().DeleteToken(ctx, accessor, client.WriteOptions{IfIndex: cas})
				if errors.Is(err, client.ErrCondition) {
					return tokenShown(t).overtaken(fmt.Sprintf("it is not at index %d", cas))
				}
				if err != nil {
					return err
				}
				return a.printf(deletedID{accessor}, "token %s deleted\n", shown.Line(accessor))
			})
		},
	}
	whichToken(cmd)
	addCAS(cmd, &cas, "delete the token")
	return cmd
}

// completeTokens completes the accessor of a token as the first argument, and shows the descriptions.
func (k *connection) completeTokens(
	cmd *cobra.Command, args []string, _ string,
) ([]string, cobra.ShellCompDirective) {
	return k.complete(cmd, args, func(ctx context.Context, c *client.Client) (out []completion.Candidate) {
		list, _, _ := c.ACL().Tokens(ctx, "", client.ReadOptions{Mode: client.Stale})
		for _, t := range list {
			out = append(out, completion.Candidate{Name: t.AccessorID, About: t.Description})
		}
		return out
	})
}
