package main

import (
	"context"
	"os/exec"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
)

// tokenVariable holds the token of a lease in the environment of its command.
const tokenVariable = "TENURE_TOKEN"

// leaseRunFlags are what `kvctl lease run` is told.
type leaseRunFlags struct {
	client.LeaseOptions
	try       bool
	killAfter time.Duration
}

func newLeaseRun(a *app) *cobra.Command {
	var o leaseRunFlags
	cmd := &cobra.Command{
		Use:   "run NAME -- COMMAND [ARGUMENT...]",
		Short: "Run a command while holding a lease",
		Long: "run waits until it holds the lease of NAME, runs COMMAND, renewing the lease, and releases it. It ends with the exit code\n" +
			"of COMMAND (128 and the number of the signal that ended it), or as other verbs do if COMMAND was not run.\n\n" +
			"If the lease cannot be renewed in time, COMMAND is sent SIGTERM a sixteenth of the TTL before anybody else can have it,\n" +
			"and SIGKILL --kill-after later; the exit code is 1 if COMMAND's was 0. The same happens to COMMAND, and then the lease\n" +
			"is released, when kvctl is interrupted or sent SIGTERM. If kvctl is killed, so is COMMAND (on Linux; not what COMMAND\n" +
			"has started), and the lease is free when its TTL has passed.\n\n" +
			"A COMMAND that is slow to stop, or was itself stopped, may write when somebody else holds the lease already. Writes that\n" +
			"carry its fence are refused then, once the next owner has written. COMMAND finds in its environment:\n\n" +
			"  TENURE_FENCE     lease/NAME:TOKEN, for ?fence= and kvctl's --fence\n" +
			"  TENURE_TOKEN     TOKEN, for fences of other stores\n" +
			"  TENURE_LEASE     NAME\n" +
			"  KVCTL_ENDPOINTS  the nodes, for kvctl\n\n" +
			"The token may grow while the lease is renewed; COMMAND keeps the first. That is as good: every later owner's is larger than all\n" +
			"of this tenure's. Only do not mix it with a token of the same tenure got elsewhere: the smaller one is refused.",
		Example: "  kvctl lease run jobs/nightly -- ./nightly.sh\n" +
			"  kvctl lease run leader --ttl 2s --try -- sh -c 'kvctl set --fence \"$TENURE_FENCE\" state running; exec ./serve'",
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case a.stale || a.consistent:
				return usage("--stale and --consistent are about reading; leave them out")
			case o.Wait < 0 || o.killAfter < 0:
				return usage("--wait and --kill-after must not be negative")
			case cmd.ArgsLenAtDash() != 1:
				return usage("write it as kvctl lease run NAME -- COMMAND, with the -- between them")
			}
			program, err := exec.LookPath(args[1])
			if err != nil {
				return usage("%w", err)
			}
			l, err := a.lease(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			return a.underLock(cmd.Context(), underLease(l), o.killAfter, program, args[1:])
		},
	}
	a.ownerFlag(cmd, &o.Owner)
	f := cmd.Flags()
	f.DurationVar(&o.TTL, "ttl", client.DefaultLeaseTTL, "how long the lease lasts without being renewed")
	f.BoolVar(&o.try, "try", false, "fail at once if somebody else holds the lease, or nobody can yet after a restart of the nodes")
	f.DurationVar(&o.Wait, "wait", 0, "fail if the lease is not held after that time (0: wait for as long as it takes)")
	f.DurationVar(&o.killAfter, "kill-after", 5*time.Second, "how long COMMAND may take to end when it must")
	return cmd
}

// lease waits for a lease as long as it is to.
func (a *app) lease(ctx context.Context, name string, o leaseRunFlags) (*client.Lease, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	o.Owner = a.owner(o.Owner)
	switch {
	case o.try:
		o.Wait = 0
	case o.Wait == 0:
		o.Wait = client.NoWaitLimit
	}
	o.OnQuarantine = a.sayOnce(o.Wait)
	if o.Wait != client.NoWaitLimit {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.acquireTime(o.Wait))
		defer cancel()
	}
	return c.Leases().Acquire(ctx, name, o.LeaseOptions)
}

// lastAnswer is what the answer to a request that waits may take beyond the wait.
const lastAnswer = 200 * time.Millisecond

// acquireTime is for how long an acquisition that waits for so long is tried. One that does not wait has --timeout, and
// of that the client needs a part to give up what may have been granted.
func (a *app) acquireTime(wait time.Duration) time.Duration {
	if wait == 0 {
		return a.timeout * 4 / 5
	}
	return wait + lastAnswer
}

func underLease(l *client.Lease) tenure {
	return tenure{
		holder: l, release: l.Release, until: "its TTL has",
		environ: []string{
			fenceVariable + "=" + l.Fence().String(), tokenVariable + "=" + strconv.FormatUint(l.Token(), 10), "TENURE_LEASE=" + l.Name(),
		},
	}
}
