package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

// listenEvery is how often elect --listen asks who leads.
const listenEvery = 250 * time.Millisecond

func newElect(a *app) *cobra.Command {
	var o leaseRunFlags
	var listen bool
	cmd := &cobra.Command{
		Use:   "elect NAME [-- COMMAND [ARGUMENT...]]",
		Short: "Stand for election, and lead until interrupted",
		Long: "elect waits until it holds the lease of NAME, prints NAME, the owner and the fence on one line, and leads until it is\n" +
			"interrupted (exit code 0) or the lease is lost (exit code 1). At most one leads at a time. With COMMAND it is kvctl\n" +
			"lease run: COMMAND runs for as long as it leads, and its exit code is that of kvctl.\n\n" +
			"With --listen it stands for nothing, and prints who leads whenever that changes, as the nodes know it: a hint.",
		Example: "  kvctl elect leader\n  kvctl elect leader --ttl 3s -- ./serve\n  kvctl elect leader --listen",
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at >= 0 && (at != 1 || len(args) < 2) || at < 0 && len(args) != 1 {
				return usage("write it as kvctl elect NAME, or kvctl elect NAME -- COMMAND")
			}
			return nil
		},
		ValidArgsFunction: a.completeLeases,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case a.stale || a.consistent:
				return usage("--stale and --consistent are about reading; leave them out")
			case o.Wait < 0 || o.killAfter < 0:
				return usage("--wait and --kill-after must not be negative")
			case listen && len(args) > 1:
				return usage("--listen runs no COMMAND: it stands for nothing")
			case listen:
				return a.listen(cmd.Context(), args[0])
			}
			program := ""
			if len(args) > 1 {
				var err error
				if program, err = exec.LookPath(args[1]); err != nil {
					return usage("%w", err)
				}
			}
			l, err := a.lease(cmd.Context(), args[0], o)
			switch {
			case err != nil:
				return err
			case program != "":
				return a.underLock(cmd.Context(), underLease(l), o.killAfter, program, args[1:])
			}
			return a.lead(cmd.Context(), l)
		},
	}
	a.ownerFlag(cmd, &o.Owner)
	f := cmd.Flags()
	f.DurationVar(&o.TTL, "ttl", client.DefaultLeaseTTL, "how long the lease lasts without being renewed")
	f.BoolVar(&o.try, "try", false, "fail at once if somebody else leads")
	f.DurationVar(&o.Wait, "wait", 0, "fail if not elected after that time (0: wait for as long as it takes)")
	f.DurationVar(&o.killAfter, "kill-after", 5*time.Second, "how long COMMAND may take to end when it must")
	f.BoolVar(&listen, "listen", false, "print who leads, whenever that changes, and stand for nothing")
	return cmd
}

// leaderJSON is who leads, with --json.
type leaderJSON struct {
	Name  string `json:"name"`
	Owner string `json:"owner"` // "" if nobody is known to lead
	Token uint64 `json:"token,omitempty"`
	Fence string `json:"fence,omitempty"` // only of who leads here
}

// lead holds the lease until ctx ends or it is lost.
func (a *app) lead(ctx context.Context, l *client.Lease) error {
	fence := l.Fence()
	err := a.print(leaderJSON{l.Name(), l.Owner(), fence.Token, fence.String()}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s\t%s\t%v\n", output.OneLine(l.Name()), output.OneLine(l.Owner()), fence)
		return err
	})
	lost := error(nil)
	if err == nil {
		select {
		case <-l.Lost():
			lost = l.Err()
		case <-ctx.Done():
		}
	}
	limit := a.timeout
	if lost != nil {
		limit = min(limit, clearLost)
	}
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	releaseErr := l.Release(releasing)
	switch {
	case err != nil:
		return err
	case lost != nil:
		return lost
	case releaseErr != nil && !errors.Is(releaseErr, client.ErrLost):
		a.note("it is free only when its TTL has passed: %v", releaseErr)
	}
	return nil
}

// listen prints who leads until ctx ends. A node that knows of no leader is not believed before another was asked: each
// lease is recorded by a majority only.
func (a *app) listen(ctx context.Context, name string) error {
	tick := time.NewTicker(listenEvery)
	defer tick.Stop()
	var shown leaderJSON
	for first := true; ; first = false {
		now := leaderJSON{Name: name}
		err := a.call(ctx, func(ctx context.Context, c *client.Client) error {
			p, err := c.Leases().List(ctx, client.LeaseListOptions{Prefix: name, Start: name, Limit: 1})
			if err == nil && len(p.Leases) == 1 && p.Leases[0].Name == name {
				now.Owner, now.Token = p.Leases[0].Owner, p.Leases[0].Token
			}
			return err
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err == nil && (first || now.Owner != shown.Owner):
			shown = now
			if err := a.print(now, func(w io.Writer) error {
				who := "nobody"
				if now.Owner != "" {
					who = output.OneLine(now.Owner)
				}
				_, err := fmt.Fprintf(w, "%s\t%s\n", output.OneLine(name), who)
				return err
			}); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
