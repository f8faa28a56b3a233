package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/internal/shown"
)

// maxSessionName is the longest name that a session may have, in bytes.
const maxSessionName = 512

// lockFlags are the flags of `kvctl lock`.
type lockFlags struct {
	holdFlags
	session client.SessionOptions
	value   string
	count   int
}

func newLock(a *app) *cobra.Command {
	var o lockFlags
	cmd := &cobra.Command{
		Use:   "lock KEY -- COMMAND [ARGUMENT...]",
		Short: "Run a command while holding a lock",
		Long: "Create a session, wait until it holds the lock of KEY, run COMMAND, and unlock KEY. The exit code\n" +
			"is that of COMMAND, or 128 plus the number of the signal that ended it; if COMMAND was not run, it\n" +
			"is as for other commands. KEY is deleted afterwards if it did not exist before and nobody has\n" +
			"written it since.\n\n" +
			"The lock is lost if the session is not renewed in time or somebody unlocks or deletes KEY. Then\n" +
			"COMMAND is sent SIGTERM, and SIGKILL after --kill-after; an exit code of 0 becomes 1. If kvctl is\n" +
			"interrupted or sent SIGTERM, it stops COMMAND in the same way and unlocks KEY. If kvctl is killed,\n" +
			"so is COMMAND, and what COMMAND has started unless standard input is a terminal; the session then\n" +
			"ends at most twice --ttl later, and the lock is free --lock-delay after that.\n\n" +
			"A COMMAND that was suspended may still write when somebody else has the lock. The cluster refuses\n" +
			"such a write if it carries the fence. The environment of COMMAND has:\n\n" +
			"  TENURE_FENCE     kv/KEY:TOKEN, for ?fence= and kvctl's --fence\n" +
			"  TENURE_SESSION   the session's ID\n" +
			"  TENURE_LOCK      KEY\n" +
			"  KVCTL_ENDPOINTS  the nodes, for kvctl\n\n" +
			"With --count N, KEY is a semaphore that at most N hold at a time, each with a key of its own under\n" +
			"KEY/; KEY/.lock lists them, in the format of consul lock -n. All users must give the same N. There\n" +
			"is no TENURE_FENCE then, since no holder is the newest.",
		Example: "  kvctl lock jobs/encode --count 3 -- ./encode.sh\n  kvctl lock jobs/nightly -- ./nightly.sh\n" +
			"  kvctl lock leader --try -- sh -c 'kvctl set --fence \"$TENURE_FENCE\" state running; exec ./serve'",
		Args:              arguments(2, many),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			program, err := o.program(a, cmd, args)
			if err != nil {
				return err
			}
			if o.session.LockDelay < 0 {
				return usage("--lock-delay must not be negative")
			}
			shared := cmd.Flags().Changed("count")
			if shared && o.count < 1 {
				return usage("--count %d: must be at least 1", o.count)
			}
			t, err := o.acquire(a, cmd.Context(), args[0], shared)
			if err != nil {
				return err
			}
			return a.runUnder(cmd.Context(), t, o.killAfter, program, args[1:])
		},
	}
	f := cmd.Flags()
	o.addTo(f, "the lock", "fail at once if the lock is held")
	ttlVar(f, &o.session.TTL, client.DefaultSessionTTL, "how long the session lives without a renewal, or up to\n"+
		"twice as long; the nodes take 10s to 24h (kvnode --session-ttl-min)")
	durationVar(f, &o.session.LockDelay, "lock-delay", defaultLockDelay,
		"how long the lock stays closed if the session ends")
	f.StringVar(&o.session.Name, "name", "",
		"name of the session, shown to those who find the lock held (default: USER@HOST: lock KEY)")
	f.StringVar(&o.value, "value", "", "value to write to KEY")
	f.IntVar(&o.count, "count", 0, "let up to this many hold the lock at a time; KEY becomes the prefix of their keys")
	a.timeoutFlag(cmd, "time limit of locking (default: none, but 10s with --try), and of unlocking (default 10s)")
	return cmd
}

// acquire waits for the lock, or for a place in the semaphore, for as long as the flags allow.
func (o lockFlags) acquire(a *app, ctx context.Context, key string, shared bool) (tenure, error) {
	c, err := a.client(ctx)
	if err != nil {
		return tenure{}, err
	}
	if o.session.LockDelay == 0 {
		o.session.LockDelay = client.NoLockDelay
	}
	if o.session.Name == "" {
		o.session.Name = cut(a.ownerOr("")+": lock "+key, maxSessionName)
	}
	limit := o.wait
	switch {
	case o.try:
		limit = a.timeout
	case limit == 0 || o.limit > 0 && o.limit < limit:
		limit = o.limit
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	if shared {
		if o.value == "" {
			o.value = a.ownerOr("")
		}
		return o.place(a, ctx, c, key)
	}
	waiting := a.noteWait("the lock of " + shown.Line(key))
	l, err := c.Locks().Acquire(ctx, key, client.LockOptions{
		Value: []byte(o.value), Try: o.try, OnWait: waiting.on, RemoveMade: true, Session: o.session,
	})
	waiting.end()
	if err != nil {
		return tenure{}, err
	}
	return tenure{
		held: l, remaining: l.Session().Remaining, release: l.Unlock, expires: "its session's TTL and lock delay have",
		environ: []string{
			fenceVariable + "=" + l.Fence().String(), "TENURE_SESSION=" + l.Session().ID(), "TENURE_LOCK=" + l.Key(),
		},
	}, nil
}

// place waits for a place in the semaphore.
func (o lockFlags) place(a *app, ctx context.Context, c *client.Client, prefix string) (tenure, error) {
	waiting := a.noteWait("a place of " + shown.Line(prefix))
	s, err := c.Locks().AcquireSemaphore(ctx, prefix, client.SemaphoreOptions{
		Limit: o.count, Value: []byte(o.value), Try: o.try, OnWait: waiting.on, RemoveMade: true, Session: o.session,
	})
	waiting.end()
	if err != nil {
		return tenure{}, err
	}
	return tenure{
		held: s, remaining: s.Session().Remaining, release: s.Release, expires: "its session's TTL has",
		environ: []string{"TENURE_SESSION=" + s.Session().ID(), "TENURE_LOCK=" + s.Prefix()},
	}, nil
}

// defaultLockDelay is how long a lock stays closed if its session ends without unlocking.
const defaultLockDelay = 15 * time.Second
