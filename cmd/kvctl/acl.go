package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tenure/api"
	"tenure/client"
	"tenure/internal/utf8text"
)

func newACL(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "acl",
		Short: "Tokens, and the policies that say what they may do",
		Long: "Make, show and change tokens and policies. A token has policies, and a policy has rules. The first\n" +
			"token is made by kvctl acl bootstrap. Flags may be written with one dash too, as Consul's are.",
	}, newACLBootstrap(a), newACLToken(a), newACLPolicy(a))
}

func newACLBootstrap(a *app) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "bootstrap [FILE|-]",
		Short: "Make the first token, which may do everything",
		Long: "Make the first token of a cluster, and print it. It may do everything. This works once; what to\n" +
			"do when the token is lost is in docs/security.md. With a FILE, or standard input, the secret is\n" +
			"what stands there, a UUID, rather than one that is drawn.",
		Example: "  kvctl acl bootstrap\n  uuidgen > root-token && kvctl acl bootstrap root-token",
		Args:    arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := a.bounded(cmd)
			defer cancel()
			secret := ""
			if len(args) == 1 {
				text, err := a.readSmall(ctx, args[0])
				if err != nil {
					return err
				}
				if secret = strings.TrimSpace(text); uuid.Validate(secret) != nil {
					return usage("%s has no UUID, which a secret must be", args[0])
				}
			}
			return a.write(ctx, func(ctx context.Context, c *client.Client) error {
				return a.printToken(c.ACL().Bootstrap(ctx, secret, client.WriteOptions{Once: w.once}))
			})
		},
	}
	consulFormat(a, cmd)
	return cmd
}

// readSmall returns what is in the file, or on standard input for "-": rules, or a secret.
func (a *app) readSmall(ctx context.Context, name string) (string, error) {
	in, name, err := a.openInput(ctx, name)
	if err != nil {
		return "", err
	}
	defer in.Close() // it is only read
	b, err := io.ReadAll(io.LimitReader(in, api.MaxRulesBytes+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	if len(b) > api.MaxRulesBytes {
		return "", usage("%s has over %d bytes, more than any cluster accepts", name, api.MaxRulesBytes)
	}
	if b, err = utf8text.Of(b); err != nil {
		return "", usage("%s: %w", name, err)
	}
	return string(b), nil
}

// consulFormat gives cmd the -format of Consul's command line, which --json is here.
func consulFormat(a *app, cmd *cobra.Command) {
	cmd.Flags().Func("format", "json or pretty", func(s string) error {
		switch s {
		case "json":
			a.json = true
		case "pretty":
		default:
			return errors.New("must be json or pretty")
		}
		return nil
	})
	_ = cmd.Flags().MarkHidden("format") // the flag exists
}

// doubleDashes returns args with two dashes before the flags of kvctl acl that stand behind one, as Consul's do. Other
// command lines stay as they are.
func doubleDashes(root *cobra.Command, args []string) []string {
	at := slices.Index(args, "acl")
	if at < 0 {
		return args
	}
	cmd, _, err := root.Find(args)
	if err != nil || !isACL(cmd) {
		return args
	}
	out := slices.Clone(args)
	for i := at + 1; i < len(out) && out[i] != "--"; i++ {
		name, _, _ := strings.Cut(strings.TrimPrefix(out[i], "-"), "=")
		if len(name) > 1 && strings.HasPrefix(out[i], "-") && !strings.HasPrefix(name, "-") && flagOf(cmd,
			name) != nil {
			out[i] = "-" + out[i]
		}
	}
	return out
}

func isACL(cmd *cobra.Command) bool {
	for ; cmd != nil; cmd = cmd.Parent() {
		if cmd.Name() == "acl" {
			return true
		}
	}
	return false
}

func flagOf(cmd *cobra.Command, name string) *pflag.Flag {
	if f := cmd.Flags().Lookup(name); f != nil {
		return f
	}
	return cmd.InheritedFlags().Lookup(name)
}

// links are the policies that flags name.
type links struct{ ids, names []string }

// addTo defines the flags. prefix is "" or "append-".
func (l *links) addTo(f *pflag.FlagSet, prefix, usage string) {
	f.StringArrayVar(&l.names, prefix+"policy-name", nil, usage+", by its name; may be given again")
	f.StringArrayVar(&l.ids, prefix+"policy-id", nil, usage+", by its ID; may be given again")
}

func (l *links) list() []client.PolicyLink {
	var out []client.PolicyLink
	for _, id := range l.ids {
		out = append(out, client.PolicyLink{ID: id})
	}
	for _, name := range l.names {
		out = append(out, client.PolicyLink{Name: name})
	}
	return out
}

// oneOf returns the argument or the value of one of the flags, of which exactly one must be given.
func oneOf(cmd *cobra.Command, what string, args []string, flags ...string) (string, error) {
	given := slices.Clone(args)
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); f.Changed {
			given = append(given, f.Value.String())
		}
	}
	if len(given) != 1 || given[0] == "" {
		return "", usage("say which %s, once: write it as %s", what, writtenAs(cmd))
	}
	return given[0], nil
}
