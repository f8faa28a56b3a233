package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/internal/shown"
)

// leaseRunFlags are the flags of `kvctl lease run` and `kvctl elect`.
type leaseRunFlags struct {
	holdFlags
	owner string
	ttl   time.Duration
}

func (o *leaseRunFlags) addTo(cmd *cobra.Command, what, try string) {
	ownerFlag(cmd, &o.owner)
	o.holdFlags.addTo(cmd.Flags(), what, try)
	ttlVar(cmd.Flags(), &o.ttl, client.DefaultLeaseTTL, "how long the lease lasts after it was last renewed")
}

func newLeaseRun(a *app) *cobra.Command {
	var o leaseRunFlags
	cmd := &cobra.Command{
		Use:   "run NAME -- COMMAND [ARGUMENT...]",
		Short: "Run a command while holding a lease",
		Long: "Wait for the lease NAME, run COMMAND while renewing the lease, and release it. The exit code is\n" +
			"that of COMMAND, or 128 plus the number of the signal that ended it; if COMMAND was not run, it is\n" +
			"as for other commands.\n\n" +
			"If the lease cannot be renewed in time, COMMAND is sent SIGTERM a sixteenth of the TTL before\n" +
			"anybody else can acquire the lease, and SIGKILL after --kill-after; an exit code of 0 becomes 1.\n" +
			"If kvctl is interrupted or sent SIGTERM, it stops COMMAND in the same way and releases the lease.\n" +
			"If kvctl is killed, so is COMMAND, and what COMMAND has started unless standard input is a\n" +
			"terminal; the lease is free when its TTL has passed.\n\n" +
			"A COMMAND that is slow to stop, or was suspended, may still write when somebody else has the\n" +
			"lease. The cluster refuses such a write if it carries the fence and the next owner has written\n" +
			"with its own. The environment of COMMAND has:\n\n" +
			"  TENURE_FENCE     lease/NAME:TOKEN, for ?fence= and kvctl's --fence\n" +
			"  TENURE_TOKEN     TOKEN, for fences of other stores\n" +
			"  TENURE_LEASE     NAME\n" +
			"  KVCTL_ENDPOINTS  the nodes, for kvctl\n\n" +
			"A renewal can increase the token; COMMAND keeps the first one. Every token of the next owner is\n" +
			"larger than all tokens of this one, so the first one protects as well. Do not mix it with a later\n" +
			"token of the same owner: once the larger one has been used, the smaller one is refused.",
		Example: "  kvctl lease run jobs/nightly -- ./nightly.sh\n  kvctl lease run leader --ttl 2s --try -- \\\n" +
			"    sh -c 'kvctl set --fence \"$TENURE_FENCE\" state running; exec ./serve'",
		Args:              arguments(2, many),
		ValidArgsFunction: a.completeLeases,
		RunE: func(cmd *cobra.Command, args []string) error {
			program, err := o.program(a, cmd, args)
			if err != nil {
				return err
			}
			l, err := o.acquire(a, cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.runUnder(cmd.Context(), leaseTenure(l), o.killAfter, program, args[1:])
		},
	}
	o.addTo(cmd, "the lease",
		"fail at once if the lease is held, or cannot be acquired yet after a restart of the nodes")
	a.timeoutFlag(cmd, "time limit of acquiring the lease (default: none, but 10s with --try), and of releasing it (default 10s)")
	return cmd
}

// acquire waits for the lease for as long as the flags allow.
func (o leaseRunFlags) acquire(a *app, ctx context.Context, name string) (*client.Lease, error) {
	c, err := a.client(ctx)
	if err != nil {
		return nil, err
	}
	wait := o.wait
	switch {
	case o.try:
		wait = 0
	case o.limit > 0 && (wait == 0 || wait > waitWithin(o.limit)):
		wait = waitWithin(o.limit)
	case wait == 0:
		wait = client.NoWaitLimit
	}
	if wait != client.NoWaitLimit {
		limit := acquireTimeout(a.timeout, wait)
		if o.limit > 0 {
			limit = min(limit, o.limit)
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	if wait != 0 {
		waiting := a.noteWait("the lease " + shown.Line(name))
		waiting.on(nil)
		defer waiting.end()
	}
	return c.Leases().Acquire(ctx, name, client.LeaseOptions{
		Owner: a.ownerOr(o.owner), TTL: o.ttl, Wait: wait, OnQuarantine: a.noteQuarantine(wait),
	})
}

// answerTime is how much longer than the wait itself the answer to a request that waits may take.
const answerTime = 200 * time.Millisecond

// acquireTimeout returns the time limit of an acquisition that waits this long for the lease. An acquisition that does
// not wait has the command's timeout, and needs a part of that to give up what may have been granted.
func acquireTimeout(timeout, wait time.Duration) time.Duration {
	if wait == 0 {
		return timeout * 4 / 5
	}
	return wait + answerTime
}

// leaseTenure makes a lease what a command runs under.
func leaseTenure(l *client.Lease) tenure {
	return tenure{
		held: l, remaining: l.Remaining, release: l.Release, expires: "its TTL has",
		environ: []string{
			fenceVariable + "=" + l.Fence().String(), "TENURE_TOKEN=" + strconv.FormatUint(l.Token(), 10),
			"TENURE_LEASE=" + l.Name(),
		},
	}
}
