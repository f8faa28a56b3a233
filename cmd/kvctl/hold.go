package main

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tenure/client"
	"tenure/cmd/kvctl/internal/child"
)

// fenceVariable holds the fence of a lock or a lease in the environment of its command.
const fenceVariable = "TENURE_FENCE"

const (
	defaultKillAfter = 5 * time.Second

	// lostReleaseTimeout bounds the release of a lost lock or lease. Somebody else may own it already, so the command
	// does not wait long to clean up.
	lostReleaseTimeout = 300 * time.Millisecond
)

// errHeldUp is the reason for stopping a command if the loss of its lock or lease has no reported reason yet.
var errHeldUp = errors.New("kvctl was stopped for too long to extend what it holds")

// holdFlags are the flags of the commands that run another one under a lock or a lease.
type holdFlags struct {
	try       bool
	wait      time.Duration
	killAfter time.Duration
	limit     time.Duration // --timeout if that is given: the wait ends within it
}

// addTo defines the flags; what names the lock or lease in their help texts.
func (h *holdFlags) addTo(f *pflag.FlagSet, what, try string) {
	f.BoolVar(&h.try, "try", false, try)
	durationVar(f, &h.wait, "wait", 0, "fail if "+what+" is not acquired within this time (default: wait without limit)")
	durationVar(f, &h.killAfter, "kill-after", defaultKillAfter,
		"time between SIGTERM and SIGKILL when COMMAND must stop")
}

// program checks the flags and returns the path of the command to run: args are the name of the lock or lease and the
// command line.
func (h *holdFlags) program(a *app, cmd *cobra.Command, args []string) (string, error) {
	if err := h.check(a, cmd); err != nil {
		return "", err
	}
	if cmd.ArgsLenAtDash() != 1 {
		return "", usage("write it as %s, with the -- between them", writtenAs(cmd))
	}
	return lookPath(args[1])
}

func (h *holdFlags) check(a *app, cmd *cobra.Command) error {
	if cmd.Flags().Changed("wait") && h.wait <= 0 {
		return usage("--wait must be above 0: --try does not wait, and without either the wait has no limit")
	}
	if h.killAfter < 0 {
		return usage("--kill-after must not be negative")
	}
	if cmd.Flags().Changed("timeout") {
		h.limit = a.timeout
	}
	return a.noReadMode()
}

func lookPath(command string) (string, error) {
	program, err := exec.LookPath(command)
	if err != nil {
		return "", usage("%w", err)
	}
	return program, nil
}

// held is a lock, a place in a semaphore, or a lease.
type held interface {
	Lost() <-chan struct{} // closed when it is lost
	Err() error            // why it is lost
}

// tenure is what a command runs under.
type tenure struct {
	held
	remaining func() time.Duration
	release   func(context.Context) error
	environ   []string // for the command
	expires   string   // what must pass if it cannot be released
}

// end releases what is held, whether ctx has ended or not. lost tells why it is lost, if it is.
func (t tenure) end(ctx context.Context, p *printer, timeout time.Duration, lost error) {
	if lost != nil || t.Err() != nil {
		timeout = min(timeout, lostReleaseTimeout)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if err := t.release(ctx); lost == nil && err != nil && !errors.Is(err, client.ErrLost) {
		p.note("it is free only when %s passed: %v", t.expires, err)
	}
}

// runUnder runs a command, stops it if it must, and releases what it ran under. An error is about the command.
func (a *app) runUnder(ctx context.Context, t tenure, killAfter time.Duration, program string, args []string) error {
	cmd := exec.Command(program)
	cmd.Args = args
	cmd.Env = append(append(append(cmd.Env, a.environ...), t.environ...),
		endpointsVariable+"="+strings.Join(a.endpoints, ","))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.stdin, a.output.w, a.stderr
	started, err := child.Start(cmd)
	if err != nil {
		t.end(ctx, &a.printer, a.timeout, nil)
		return err
	}
	var lost error
	ended, wasLost := started.Supervise(ctx, child.Right{Lost: t.Lost(), Remaining: t.remaining}, killAfter)
	if wasLost {
		lost = cmp.Or(t.Err(), errHeldUp)
	}
	t.end(ctx, &a.printer, a.timeout, lost)
	if lost != nil {
		a.note("%v: the command was stopped", lost)
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

// cut returns s, or as much of it as n bytes hold.
func cut(s string, n int) string {
	return strings.ToValidUTF8(s[:min(n, len(s))], "")
}
