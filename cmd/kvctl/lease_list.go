package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
	"tenure/internal/shown"
)

func newLeaseList(a *app) *cobra.Command {
	var o client.LeaseListOptions
	cmd := &cobra.Command{
		Use:     "list [PREFIX]",
		Aliases: []string{"ls"},
		Short:   "List the leases that are held, as the nodes know them",
		Long: "Ask every endpoint which leases its node has recorded, and print those whose names begin with\n" +
			"PREFIX, in order. The list is a hint: an owner may have renewed or released its lease meanwhile,\n" +
			"and a node that was restarted has forgotten its records. A majority of the nodes records each\n" +
			"lease; standard error tells what may be missing.\n\n" +
			"The list ends after --limit names and tells with which --start it continues.",
		Example:           "  kvctl lease list\n  kvctl lease list jobs/ --limit 100",
		Args:              arguments(0, 1),
		ValidArgsFunction: a.completeLeases,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Limit < 0 {
				return usage("--limit %d: must not be negative", o.Limit)
			}
			if err := a.noLeaseReadMode(); err != nil {
				return err
			}
			o.Prefix = optional(args)
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
	cmd.Flags().IntVar(&o.Limit, "limit", 0, "print at most this many, up to 10,000 (0: 1,000)")
	return cmd
}

// leaseJSON is a lease as --json prints it.
type leaseJSON struct {
	Name      string `json:"name"`
	Owner     string `json:"owner"`
	Token     uint64 `json:"token"`
	Remaining int64  `json:"remaining_ms"`
}

func (p *printer) printLeases(page client.LeasePage) error {
	out := struct {
		Leases  []leaseJSON `json:"leases"`
		Next    string      `json:"next,omitempty"`
		Unasked []string    `json:"unasked,omitempty"`
		Silent  int64       `json:"silent_ms,omitempty"`
		Hint    bool        `json:"hint"`
	}{Leases: []leaseJSON{}, Next: page.Next, Unasked: page.Unasked, Silent: page.Quarantine.Milliseconds(), Hint: true}
	var rows [][]string
	for _, l := range page.Leases {
		out.Leases = append(out.Leases, leaseJSON{l.Name, l.Owner, l.Token, l.Remaining.Milliseconds()})
		rows = append(rows, []string{
			shown.Line(l.Name), shown.Line(l.Owner), fmt.Sprint(l.Token), output.Duration(l.Remaining),
		})
	}
	err := p.list(out, []string{"NAME", "OWNER", "TOKEN", "LEFT"}, rows, "no lease was found")
	if err != nil || p.json {
		return err
	}
	if len(page.Unasked) > 0 {
		p.note("no answer from %s: leases that only they know of are missing", strings.Join(page.Unasked, ", "))
	}
	if page.Quarantine > 0 {
		p.note("a node that was restarted learns of leases in %s", output.Duration(page.Quarantine))
	}
	if page.Next != "" {
		p.note("there are more: continue with --start %s", shown.Word(page.Next))
	}
	return nil
}
