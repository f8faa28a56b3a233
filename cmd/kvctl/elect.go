package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/internal/shown"
)

// listenInterval is how often elect --listen asks who leads.
const listenInterval = 250 * time.Millisecond

func newElect(a *app) *cobra.Command {
	var o leaseRunFlags
	var listen bool
	cmd := &cobra.Command{
		Use:   "elect NAME [-- COMMAND [ARGUMENT...]]",
		Short: "Stand for election, and lead until interrupted",
		Long: "Wait for the lease NAME, print NAME, the owner and the fence on one line, and lead until\n" +
			"interrupted (exit code 0) or until the lease is lost (exit code 1). At most one leads at a time.\n" +
			"With COMMAND it is kvctl lease run: COMMAND runs while this process leads, and its exit code\n" +
			"becomes that of kvctl.\n\n" +
			"With --listen, do not stand for election, and print who leads whenever that changes, as the nodes\n" +
			"know it: a hint. It goes on until interrupted, or for as long as --timeout says.",
		Example: "  kvctl elect leader\n  kvctl elect leader --ttl 3s -- ./serve\n  kvctl elect leader --listen",
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at >= 0 && (at != 1 || len(args) < 2) || at < 0 && len(args) != 1 {
				return usage("write it as kvctl elect NAME, or kvctl elect NAME -- COMMAND")
			}
			return nil
		},
		ValidArgsFunction: a.completeLeases,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(a, cmd); err != nil {
				return err
			}
			name, command := args[0], args[1:]
			switch {
			case listen && len(command) > 0:
				return usage("--listen runs no COMMAND: it does not stand for election")
			case listen:
				return a.listen(cmd.Context(), name, o.limit)
			}
			program := ""
			if len(command) > 0 {
				var err error
				if program, err = lookPath(command[0]); err != nil {
					return err
				}
			}
			l, err := o.acquire(a, cmd.Context(), name)
			if err != nil {
				return err
			}
			if program != "" {
				return a.runUnder(cmd.Context(), leaseTenure(l), o.killAfter, program, command)
			}
			return a.lead(cmd.Context(), l)
		},
	}
	o.addTo(cmd, "the lease", "fail at once if somebody else leads")
	cmd.Flags().BoolVar(&listen, "listen", false, "only print who leads, whenever that changes")
	a.timeoutFlag(cmd, "time limit of acquiring the lease (default: none, but 10s with --try), of releasing it "+
		"(default 10s), and of --listen (default: none), which ends with exit code 0 then")
	return cmd
}

// leaderJSON is who leads, with --json.
type leaderJSON struct {
	Name  string `json:"name"`
	Owner string `json:"owner"` // "" if nobody is known to lead
	Token uint64 `json:"token,omitempty"`
	Fence string `json:"fence,omitempty"` // only if this process leads
}

// lead holds the lease until ctx ends or the lease is lost.
func (a *app) lead(ctx context.Context, l *client.Lease) error {
	fence := l.Fence()
	err := a.printf(leaderJSON{l.Name(), l.Owner(), fence.Token, fence.String()},
		"%s\t%s\t%v\n", shown.Line(l.Name()), shown.Line(l.Owner()), shown.Line(fence.String()))
	var lost error
	if err == nil {
		select {
		case <-l.Lost():
			lost = l.Err()
		case <-ctx.Done():
		}
	}
	leaseTenure(l).end(ctx, &a.printer, a.timeout, lost)
	return errors.Join(err, lost)
}

// listen prints who leads until ctx ends, or for limit if that is above 0. It fails if the first question does.
func (a *app) listen(ctx context.Context, name string, limit time.Duration) error {
	listening := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		listening, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	var last *leaderJSON
	err := poll(listening, listenInterval, func() (bool, error) {
		now := leaderJSON{Name: name}
		err := a.call(listening, func(ctx context.Context, c *client.Client) (err error) {
			now.Owner, now.Token, err = leader(ctx, c, name)
			return err
		})
		switch {
		case err != nil && last == nil:
			return false, err
		case listening.Err() != nil:
			return true, nil
		case err != nil || last != nil && now.Owner == last.Owner:
			return false, nil
		}
		last = &now
		who := "nobody"
		if now.Owner != "" {
			who = shown.Line(now.Owner)
		}
		return false, a.printf(now, "%s\t%s\n", shown.Line(name), who)
	})
	if ctx.Err() != nil || listening.Err() != nil && last != nil {
		return nil
	}
	return err
}

// leader returns the owner of a lease as all nodes know it, or "". One node is not enough: each lease is recorded by a
// majority only.
func leader(ctx context.Context, c *client.Client, name string) (owner string, token uint64, err error) {
	p, err := c.Leases().List(ctx, client.LeaseListOptions{Prefix: name, Start: name, Limit: 1})
	if err != nil || len(p.Leases) == 0 || p.Leases[0].Name != name {
		return "", 0, err
	}
	return p.Leases[0].Owner, p.Leases[0].Token, nil
}
