package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
)

func newLease(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "lease",
		Short: "Hold a lease by name: acquire, renew, release, show, list, run",
		Long: "A lease is held by one owner at a time, for a TTL of 100 ms or more, as long as it is renewed. It costs no disk write, no\n" +
			"node matters to it, and each owner has a larger token than the one before: pass it with what the lease protects.\n\n" +
			"kvctl lease run does all that a command under a lease needs. acquire, renew and release are for scripts that do it\n" +
			"themselves.",
	}, newLeaseAcquire(a), newLeaseRenew(a), newLeaseRelease(a), newLeaseShow(a), newLeaseList(a), newLeaseRun(a))
}

// ownerFlag is who holds the lease. The default is the same in each command of a user on a host, since a grant is of
// one owner.
func (a *app) ownerFlag(cmd *cobra.Command, owner *string) {
	cmd.Flags().StringVar(owner, "owner", "", "who holds it, for people and the same each time (default: user@host)")
}

func (a *app) owner(given string) string {
	if given != "" {
		return given
	}
	user := "somebody"
	for _, e := range a.environ {
		if v, ok := strings.CutPrefix(e, "USER="); ok && v != "" {
			user = v
		}
	}
	if host, err := os.Hostname(); err == nil {
		user += "@" + host
	}
	return cut(user, client.MaxLeaseOwnerBytes)
}

func newLeaseAcquire(a *app) *cobra.Command {
	var o client.LeaseOptions
	cmd := &cobra.Command{
		Use:   "acquire NAME",
		Short: "Acquire a lease for one TTL",
		Long: "acquire prints a grant, which renew and release take, and behind a tab the fence for what the lease protects:\n" +
			"  read -r grant fence < <(kvctl lease acquire jobs/nightly)\n" +
			"Nothing renews the lease by itself. It is over when its TTL has passed since BEFORE this command was started (and not\n" +
			"since it has printed anything), a sixteenth of the TTL sooner to be safe. If somebody else holds it: exit code 1; likewise for\n" +
			"some time after a restart of all nodes, which the message tells.\n\n" +
			"With --acquisition, a text of your own that was never used before, the command may be run again when its outcome was\n" +
			"unknown (exit code 3), here or elsewhere: it is still one acquisition. Without it, one that is given up is released.",
		Example:           "  kvctl lease acquire jobs/nightly --ttl 30s --wait 1m",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Wait < 0 {
				return usage("--wait must not be negative")
			}
			o.Owner, a.waits, o.OnQuarantine = a.owner(o.Owner), a.acquireTime(o.Wait)-a.timeout, a.sayOnce(o.Wait)
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				g, err := c.Leases().Grant(ctx, args[0], o)
				if err != nil {
					return err
				}
				return a.printGrant(g)
			})
		},
	}
	a.ownerFlag(cmd, &o.Owner)
	cmd.Flags().DurationVar(&o.TTL, "ttl", client.DefaultLeaseTTL, "how long it lasts without being renewed")
	cmd.Flags().DurationVar(&o.Wait, "wait", 0, "how long to queue if somebody else holds it (0: not at all)")
	cmd.Flags().StringVar(&o.Acquisition, "acquisition", "", "a new name for this acquisition, with which it may be tried again")
	return cmd
}

// sayOnce tells on standard error why an acquisition that may wait has to wait after a restart of the nodes. Without a
// wait the error says it.
func (a *app) sayOnce(wait time.Duration) func(*client.QuarantineError) {
	said := wait == 0 || a.json
	return func(e *client.QuarantineError) {
		if !said {
			said = true
			fmt.Fprintf(a.stderr, "kvctl: %v\n", &client.QuarantineError{Remaining: e.Remaining.Round(100 * time.Millisecond)})
		}
	}
}

func newLeaseRenew(a *app) *cobra.Command {
	var g client.LeaseGrant
	cmd := &cobra.Command{
		Use:   "renew NAME GRANT",
		Short: "Start a lease's TTL anew",
		Long: "renew prints the next grant, and behind a tab the fence, whose token may have grown. Exit code 1 if the lease is gone.\n" +
			"After any other failure it lasts as long as it did; renewing may be repeated. --owner must be as in acquire.",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			g.Name, g.Grant, g.Owner = args[0], args[1], a.owner(g.Owner)
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				next, err := c.Leases().Renew(ctx, g)
				if err != nil {
					return err
				}
				return a.printGrant(next)
			})
		},
	}
	a.ownerFlag(cmd, &g.Owner)
	cmd.Flags().DurationVar(&g.TTL, "ttl", 0, "another TTL from now on (0: the same)")
	return cmd
}

func newLeaseRelease(a *app) *cobra.Command {
	var owner, acquisition string
	cmd := &cobra.Command{
		Use:   "release NAME GRANT | release NAME --acquisition ID",
		Short: "Give a lease free",
		Long: "release gives a lease free; any of its grants will do, or the --acquisition that acquire was told, if it has printed\n" +
			"nothing. That is final: an acquisition is never used again. That nothing was held is no failure.",
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 2) == (acquisition != "") {
				return usage("name what to release: the GRANT or --acquisition, one of them")
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				var err error
				if acquisition != "" {
					err = c.Leases().ReleaseAcquisition(ctx, args[0], a.owner(owner), acquisition)
				} else {
					err = c.Leases().Release(ctx, client.LeaseGrant{Name: args[0], Grant: args[1], Owner: a.owner(owner)})
				}
				if err != nil {
					return err
				}
				return a.print(struct {
					Name string `json:"name"`
				}{args[0]}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "lease %s released\n", output.OneLine(args[0]))
					return err
				})
			})
		},
	}
	a.ownerFlag(cmd, &owner)
	cmd.Flags().StringVar(&acquisition, "acquisition", "", "the acquisition to give up")
	return cmd
}

func newLeaseShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show who holds a lease, as one node knows it",
		Long: "show asks one node who holds a lease. It is a hint: the owner may have renewed or released it through others. Exit code 1\n" +
			"if the node knows of no owner. Never use the token that it shows as a fence: it may be the next owner's.",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeLeases,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.stale || a.consistent {
				return usage("--stale and --consistent are about keys; what is known of a lease is always a hint")
			}
			return a.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				i, err := c.Leases().Info(ctx, args[0])
				if err != nil {
					return err
				}
				return a.print(struct {
					Name      string `json:"name"`
					Owner     string `json:"owner"`
					Token     uint64 `json:"token"`
					Remaining int64  `json:"remaining_ms"`
					Hint      bool   `json:"hint"`
				}{i.Name, i.Owner, i.Token, i.Remaining.Milliseconds(), true}, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "held by %s, token %d, for another %s unless renewed\n", output.OneLine(i.Owner), i.Token, output.Duration(i.Remaining))
					return err
				})
			})
		},
	}
}

// grantJSON is a grant as --json prints it.
type grantJSON struct {
	Name  string `json:"name"`
	Owner string `json:"owner"`
	Token uint64 `json:"token"`
	Fence string `json:"fence"`
	Grant string `json:"grant"`
	TTL   int64  `json:"ttl_ms"`
	Left  int64  `json:"left_ms"` // when it was printed
}

func (a *app) printGrant(g client.LeaseGrant) error {
	fence := client.Fence{Name: "lease/" + g.Name, Token: g.Token}.String()
	out := grantJSON{g.Name, g.Owner, g.Token, fence, g.Grant, g.TTL.Milliseconds(), max(0, g.Left).Milliseconds()}
	return a.print(out, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s\t%s\n", g.Grant, fence)
		return err
	})
}
