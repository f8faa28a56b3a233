package main

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/child"
)

// fenceVariable holds the fence of a lock or a lease in the environment of its command.
const fenceVariable = "TENURE_FENCE"

// lockFlags are what `kvctl lock` is told.
type lockFlags struct {
	client.LockOptions
	value     string
	wait      time.Duration
	killAfter time.Duration
	count     int
}

func newLock(a *app) *cobra.Command {
	var o lockFlags
	cmd := &cobra.Command{
		Use:   "lock KEY -- COMMAND [ARGUMENT...]",
		Short: "Run a command while holding a lock",
		Long: "lock creates a session, waits until it holds the lock of KEY, runs COMMAND, and unlocks. It ends with the exit code\n" +
			"of COMMAND (128 and the number of the signal that ended it), or as other verbs do if COMMAND was not run. KEY is\n" +
			"deleted if it was not there before and nobody has written it since.\n\n" +
			"If the lock is lost, since the session could not be renewed in time or somebody unlocked or deleted KEY, COMMAND is\n" +
			"sent SIGTERM, and SIGKILL --kill-after later; the exit code is 1 if COMMAND's was 0. The same happens to COMMAND,\n" +
			"and then the lock is released, when kvctl is interrupted or sent SIGTERM. If kvctl is killed, so is COMMAND (on\n" +
			"Linux; not what COMMAND has started), and the lock is free some time after the session's TTL and lock-delay.\n\n" +
			"A COMMAND that was stopped for long may write when somebody else holds the lock already. Writes that carry its\n" +
			"fence are refused then. COMMAND finds it in its environment, as all of these:\n\n" +
			"  TENURE_FENCE     kv/KEY:TOKEN, for ?fence= and kvctl's --fence\n" +
			"  TENURE_SESSION   the session's ID\n" +
			"  TENURE_LOCK      KEY\n" +
			"  KVCTL_ENDPOINTS  the nodes, for kvctl\n\n" +
			"With --count N it is a semaphore: at most N hold it at a time, each with a key of its own under KEY/, and KEY/.lock\n" +
			"lists them, as consul lock -n has it. All must give the same N. There is no TENURE_FENCE then, since nobody is the newest.",
		Example: "  kvctl lock jobs/encode --count 3 -- ./encode.sh\n  kvctl lock jobs/nightly -- ./nightly.sh\n" +
			"  kvctl lock leader --try -- sh -c 'kvctl set --fence \"$TENURE_FENCE\" state running; exec ./serve'",
		Args:              cobra.MinimumNArgs(2),
		ValidArgsFunction: a.completeKeys,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(a, cmd); err != nil {
				return err
			}
			program, err := exec.LookPath(args[1])
			if err != nil {
				return usage("%w", err)
			}
			if cmd.Flags().Changed("count") {
				m, err := a.semaphore(cmd.Context(), args[0], o)
				if err != nil {
					return err
				}
				return a.underLock(cmd.Context(), underSemaphore(m), o.killAfter, program, args[1:])
			}
			l, err := a.lock(cmd.Context(), args[0], o)
			if err != nil {
				return err
			}
			return a.underLock(cmd.Context(), underLock(l), o.killAfter, program, args[1:])
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.Try, "try", false, "fail at once if the lock is held")
	f.DurationVar(&o.wait, "wait", 0, "fail if the lock is not held after that time (0: wait for as long as it takes)")
	f.DurationVar(&o.Session.TTL, "ttl", client.DefaultSessionTTL, "TTL of the session")
	f.DurationVar(&o.Session.LockDelay, "lock-delay", 15*time.Second, "how long nobody gets a lock whose session has ended")
	f.StringVar(&o.Session.Name, "name", "", "name of the session, which those who find the lock held are told (default: USER@HOST: lock KEY)")
	f.StringVar(&o.value, "value", "", "value to write to KEY")
	f.IntVar(&o.count, "count", 0, "share the lock: so many may hold it at a time, and KEY is the prefix of their keys")
	f.DurationVar(&o.killAfter, "kill-after", 5*time.Second, "how long COMMAND may take to end when it must")
	return cmd
}

func (o *lockFlags) check(a *app, cmd *cobra.Command) error {
	switch {
	case a.stale || a.consistent:
		return usage("--stale and --consistent are about reading; leave them out")
	case o.wait < 0 || o.killAfter < 0 || o.Session.LockDelay < 0:
		return usage("--wait, --lock-delay and --kill-after must not be negative")
	case cmd.Flags().Changed("count") && o.count < 1:
		return usage("--count %d: must be at least 1", o.count)
	case cmd.ArgsLenAtDash() != 1:
		return usage("write it as kvctl lock KEY -- COMMAND, with the -- between them")
	}
	if o.Session.LockDelay == 0 {
		o.Session.LockDelay = client.NoLockDelay
	}
	o.Value = []byte(o.value)
	o.RemoveMade = true
	return nil
}

// lock waits for the lock as long as it is to.
func (a *app) lock(ctx context.Context, key string, o lockFlags) (*client.Lock, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	if o.Session.Name == "" {
		o.Session.Name = cut(a.owner("")+": lock "+key, maxSessionName)
	}
	if o.Try {
		var l *client.Lock
		err := a.call(ctx, func(ctx context.Context, c *client.Client) (err error) {
			l, err = c.Locks().Acquire(ctx, key, o.LockOptions)
			return err
		})
		return l, err
	}
	if o.wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.wait)
		defer cancel()
	}
	return c.Locks().Acquire(ctx, key, o.LockOptions)
}

// semaphore waits for a place as long as it is to.
func (a *app) semaphore(ctx context.Context, prefix string, o lockFlags) (*client.Semaphore, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	s := client.SemaphoreOptions{Limit: o.count, Value: o.Value, Try: o.Try, RemoveMade: true, Session: o.Session}
	if s.Session.Name == "" {
		s.Session.Name = cut(a.owner("")+": lock "+prefix, maxSessionName)
	}
	if len(s.Value) == 0 {
		s.Value = []byte(a.owner(""))
	}
	limit := o.wait
	if o.Try {
		limit = a.timeout
	}
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	return c.Locks().AcquireSemaphore(ctx, prefix, s)
}

func underSemaphore(m *client.Semaphore) tenure {
	return tenure{
		holder: m, release: m.Release, until: "its session's TTL has",
		environ: []string{"TENURE_SESSION=" + m.Session().ID(), "TENURE_LOCK=" + m.Prefix()},
	}
}

func underLock(l *client.Lock) tenure {
	return tenure{
		holder: l, release: l.Unlock, until: "its session's TTL and lock-delay have",
		environ: []string{fenceVariable + "=" + l.Fence().String(), "TENURE_SESSION=" + l.Session().ID(), "TENURE_LOCK=" + l.Key()},
	}
}

// maxSessionName is the longest name that a session may have.
const maxSessionName = 512

// cut is s, or as much of it as n bytes hold.
func cut(s string, n int) string {
	return strings.ToValidUTF8(s[:min(n, len(s))], "")
}

// tenure is what a command runs under: a lock or a lease.
type tenure struct {
	holder
	environ []string
	release func(context.Context) error
	until   string // what must pass if it cannot be released
}

// holder tells when what is held is lost, and why.
type holder interface {
	Lost() <-chan struct{}
	Err() error
}

// clearLost is how long it may take to clear away what is left of a lock or lease that is lost.
const clearLost = 300 * time.Millisecond

// underLock runs a command, stops it if it must, and releases what it ran under.
func (a *app) underLock(ctx context.Context, h tenure, killAfter time.Duration, program string, args []string) error {
	cmd := exec.Command(program)
	cmd.Args = args
	cmd.Env = append(append(append(cmd.Env, a.environ...), h.environ...), endpointsVariable+"="+strings.Join(a.endpoints, ","))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.stdin, a.stdout, a.stderr
	var lost error
	started, startErr := child.Start(cmd)
	var ended error
	if startErr == nil {
		var wasLost bool
		if ended, wasLost = started.Supervise(ctx, h.Lost(), killAfter); wasLost {
			lost = h.Err()
		}
	}
	// What is lost is somebody else's to have already, or soon: nobody waits long for the rest of it to be cleared
	// away.
	limit := a.timeout
	if lost != nil || h.Err() != nil {
		limit = min(limit, clearLost)
	}
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	releaseErr := h.release(releasing)
	switch {
	case lost != nil:
		a.note("%v: the command was stopped", lost)
	case releaseErr != nil && !errors.Is(releaseErr, client.ErrLost):
		a.note("it is free only when %s passed: %v", h.until, releaseErr)
	}
	if startErr != nil {
		return startErr
	}
	code, err := child.ExitCode(ended)
	if lost != nil && code == exitDone {
		code = exitFailed
	}
	if code != exitDone && err == nil {
		err = child.Exit(code)
	}
	return err
}
