package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
	"tenure/internal/shown"
)

func newLease(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "lease",
		Short: "Acquire, renew, release, show and list leases, or run a command under one",
		Long: "A lease belongs to one owner at a time, for a TTL of at least 100 ms from its last renewal. It\n" +
			"needs no particular node, and gives each owner a larger token than the one before: pass the token\n" +
			"with the writes that the lease protects.\n\n" +
			"To run a command under a lease, use kvctl lease run. acquire, renew and release are for scripts\n" +
			"that keep a lease themselves.",
	}, newLeaseAcquire(a), newLeaseRenew(a), newLeaseRelease(a), newLeaseShow(a), newLeaseList(a), newLeaseRun(a))
}

// ownerFlag defines --owner. Its default is the same in all commands of a user on a host, since a grant belongs to one
// owner.
func ownerFlag(cmd *cobra.Command, owner *string) {
	cmd.Flags().StringVar(owner, "owner", "",
		"owner of the lease, the same in each command about it (default: user@host)")
}

// ownerOr returns the given owner, or the user and the host.
func (k *connection) ownerOr(given string) string {
	if given != "" {
		return given
	}
	user := "uid-" + strconv.Itoa(os.Getuid()) // programs that systemd or cron starts have no USER
	for _, e := range k.environ {
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
		Long: "Acquire a lease and print a grant, which renew and release take, and after a tab the fence for\n" +
			"what the lease protects:\n" +
			"  read -r grant fence < <(kvctl lease acquire jobs/nightly)\n" +
			"The fence of a name with invisible characters is printed in quotes, as --fence takes it.\n" +
			"Nothing renews the lease by itself. The TTL counts from BEFORE this command was started, not from\n" +
			"its output; stop a sixteenth of the TTL earlier to be safe. The exit code is 1 if somebody else\n" +
			"holds the lease, and for some time after a restart of all nodes; the message tells which.\n\n" +
			"With --acquisition, a text of your own that was never used before, the command can be repeated,\n" +
			"here or elsewhere, if its outcome was unknown (exit code 3): it is still one acquisition. Without\n" +
			"it, an acquisition that is given up is released.\n\n" +
			"If --timeout is given, the command ends within that time, however long --wait is.",
		Example:           "  kvctl lease acquire jobs/nightly --ttl 30s --wait 1m",
		Args:              arguments(1, 1),
		ValidArgsFunction: a.completeLeases,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Wait < 0 {
				return usage("--wait must not be negative")
			}
			o.Owner, o.OnQuarantine = a.ownerOr(o.Owner), a.noteQuarantine(o.Wait)
			limit := acquireTimeout(a.timeout, o.Wait)
			if cmd.Flags().Changed("timeout") {
				o.Wait = min(o.Wait, waitWithin(a.timeout))
				limit = min(a.timeout, acquireTimeout(a.timeout, o.Wait))
			}
			a.extraTime = limit - a.timeout
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				return a.printGrant(c.Leases().Grant(ctx, args[0], o))
			})
		},
	}
	ownerFlag(cmd, &o.Owner)
	ttlVar(cmd.Flags(), &o.TTL, client.DefaultLeaseTTL, "how long the lease lasts unless it is renewed")
	durationVar(cmd.Flags(), &o.Wait, "wait", 0, "how long to wait if somebody else holds the lease (0: do not wait)")
	cmd.Flags().StringVar(&o.Acquisition, "acquisition", "",
		"a new name for this acquisition, under which it can be repeated")
	return cmd
}

// noteQuarantine returns a function for client.LeaseOptions that reports once, on standard error, why an acquisition
// must wait after a restart of the nodes. Without a wait the acquisition's error tells that.
func (p *printer) noteQuarantine(wait time.Duration) func(*client.QuarantineError) {
	reported := wait == 0 || p.json
	return func(e *client.QuarantineError) {
		if !reported {
			reported = true
			p.note("%v", &client.QuarantineError{Remaining: e.Remaining.Round(100 * time.Millisecond)})
		}
	}
}

func newLeaseRenew(a *app) *cobra.Command {
	var g client.LeaseGrant
	cmd := &cobra.Command{
		Use:   "renew NAME GRANT",
		Short: "Restart the TTL of a lease",
		Long: "Renew a lease and print the next grant, and after a tab the fence, whose token may be larger. The\n" +
			"exit code is 1 if the lease is gone. After any other failure the lease lasts as long as before,\n" +
			"and renewing can be repeated. --owner must be as it was for acquire.",
		Args:              arguments(2, 2),
		ValidArgsFunction: a.completeLeases,
		RunE: func(cmd *cobra.Command, args []string) error {
			g.Name, g.Grant, g.Owner = args[0], args[1], a.ownerOr(g.Owner)
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				return a.printGrant(c.Leases().Renew(ctx, g))
			})
		},
	}
	ownerFlag(cmd, &g.Owner)
	ttlVar(cmd.Flags(), &g.TTL, 0, "a new TTL (default: keep the TTL)")
	return cmd
}

func newLeaseRelease(a *app) *cobra.Command {
	var owner, acquisition string
	cmd := &cobra.Command{
		Use:   "release NAME GRANT | release NAME --acquisition ID",
		Short: "Release a lease",
		Long: "Release a lease, named by any of its grants, or by the --acquisition that was given to acquire if\n" +
			"acquire has printed nothing. An acquisition that was released is never granted again. Releasing a\n" +
			"lease that is not held succeeds.",
		Args:              arguments(1, 2),
		ValidArgsFunction: a.completeLeases,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 2) == (acquisition != "") {
				return usage("name what to release: give the GRANT or --acquisition, one of them")
			}
			return a.write(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				var err error
				if acquisition != "" {
					err = c.Leases().ReleaseAcquisition(ctx, args[0], a.ownerOr(owner), acquisition)
				} else {
					err = c.Leases().Release(ctx,
						client.LeaseGrant{Name: args[0], Grant: args[1], Owner: a.ownerOr(owner)})
				}
				if err != nil {
					return err
				}
				return a.printf(struct {
					Name string `json:"name"`
				}{args[0]}, "lease %s released\n", shown.Line(args[0]))
			})
		},
	}
	ownerFlag(cmd, &owner)
	cmd.Flags().StringVar(&acquisition, "acquisition", "", "the acquisition to release")
	return cmd
}

func newLeaseShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Show who holds a lease, as one node knows it",
		Long: "Ask one node who holds a lease. The answer is a hint: the owner may have renewed or released the\n" +
			"lease through other nodes. The exit code is 1 if the node knows of no owner. Never use the token\n" +
			"as a fence: it may be the next owner's.",
		Args:              arguments(1, 1),
		ValidArgsFunction: a.completeLeases,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.noLeaseReadMode(); err != nil {
				return err
			}
			return a.call(cmd.Context(), func(ctx context.Context, c *client.Client) error {
				i, err := c.Leases().Info(ctx, args[0])
				if err != nil {
					return err
				}
				return a.printf(struct {
					leaseJSON
					Hint bool `json:"hint"`
				}{leaseJSON{i.Name, i.Owner, i.Token, i.Remaining.Milliseconds()}, true},
					"held by %s, token %d, for another %s unless renewed\n",
					shown.Line(i.Owner), i.Token, output.Duration(i.Remaining))
			})
		},
	}
}

// noLeaseReadMode is noReadMode for a command that reads leases.
func (a *app) noLeaseReadMode() error {
	if a.noReadMode() != nil {
		return usage("--stale and --consistent are for keys and sessions; what nodes know about leases is always a " +
			"hint")
	}
	return nil
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

func (p *printer) printGrant(g client.LeaseGrant, err error) error {
	if err != nil {
		return err
	}
	fence := client.Fence{Name: "lease/" + g.Name, Token: g.Token}.String()
	out := grantJSON{
		g.Name, g.Owner, g.Token, fence, g.Grant, g.TTL.Milliseconds(), max(0, g.Left).Milliseconds(),
	}
	return p.printf(out, "%s\t%s\n", g.Grant, shown.Line(fence))
}
