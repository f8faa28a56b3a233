package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

func newLeaseList(a *app) *cobra.Command {
	var o client.LeaseListOptions
	cmd := &cobra.Command{
		Use:     "list [PREFIX]",
		Aliases: []string{"ls"},
		Short:   "List the leases that are held, as the nodes know it",
		Long: "list asks every endpoint which leases its node has recorded and prints those whose names begin with PREFIX, in order:\n" +
			"a hint, since an owner may have renewed or released its lease meanwhile, and a node that was restarted has forgotten.\n" +
			"A lease is recorded by a majority of the nodes; what is said on standard error tells what may be missing.\n\n" +
			"A list ends after --limit names (1,000), and says with which --start it goes on.",
		Example:           "  kvctl lease list\n  kvctl lease list jobs/ --limit 100",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeLeases,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case a.stale || a.consistent:
				return usage("--stale and --consistent are about keys; what is known of a lease is always a hint")
			case o.Limit < 0:
				return usage("--limit %d: must not be negative", o.Limit)
			}
			if len(args) > 0 {
				o.Prefix = args[0]
			}
			return a.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				p, err := c.Leases().List(ctx, o)
				if err != nil {
					return err
				}
				return a.printLeases(p)
			})
		},
	}
	cmd.Flags().StringVar(&o.Start, "start", "", "first name to print")
	cmd.Flags().IntVar(&o.Limit, "limit", 0, "print at most so many, up to 10,000 (0: 1,000)")
	return cmd
}

// leaseJSON is a lease as --json prints it.
type leaseJSON struct {
	Name      string `json:"name"`
	Owner     string `json:"owner"`
	Token     uint64 `json:"token"`
	Remaining int64  `json:"remaining_ms"`
}

func (a *app) printLeases(p client.LeasePage) error {
	out := struct {
		Leases  []leaseJSON `json:"leases"`
		Next    string      `json:"next,omitempty"`
		Unasked []string    `json:"unasked,omitempty"`
		Silent  int64       `json:"silent_ms,omitempty"`
		Hint    bool        `json:"hint"`
	}{Leases: []leaseJSON{}, Next: p.Next, Unasked: p.Unasked, Silent: p.Quarantine.Milliseconds(), Hint: true}
	for _, l := range p.Leases {
		out.Leases = append(out.Leases, leaseJSON{l.Name, l.Owner, l.Token, l.Remaining.Milliseconds()})
	}
	err := a.print(out, func(w io.Writer) error {
		if len(p.Leases) == 0 {
			return nil
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "NAME\tOWNER\tTOKEN\tLEFT")
		for _, l := range p.Leases {
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\n", output.OneLine(l.Name), output.OneLine(l.Owner), l.Token, output.Duration(l.Remaining))
		}
		return t.Flush()
	})
	if err != nil || a.json {
		return err
	}
	if len(p.Unasked) > 0 {
		a.note("no answer from %s: leases that only others know of are missing", strings.Join(p.Unasked, ", "))
	}
	if p.Quarantine > 0 {
		a.note("a node that was restarted learns of leases in %s", output.Duration(p.Quarantine))
	}
	if p.Next != "" {
		a.note("there are more: go on with --start %s", quoteWord(p.Next))
	}
	return nil
}

// quoteWord is s as a word of a shell's command line.
func quoteWord(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
