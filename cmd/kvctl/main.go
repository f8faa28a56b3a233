package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/internal/child"
	"tenure/internal/buildinfo"
)

// The exit codes.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitUnknown = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run carries out one command line and returns the exit code. It ends soon after ctx does.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := newApp(environ, stdin, stdout, stderr)
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	a.close()
	if err == nil {
		return exitDone
	}
	if !a.started && !errors.As(err, new(usageError)) {
		err = usageError{err} // cobra's own complaints
	}
	a.complain(err)
	return exitCode(err)
}

// usageError is a command line that cannot be carried out.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errQuiet fails a command that has said all there is to say.
var errQuiet = errors.New("failed")

func exitCode(err error) int {
	var command child.Exit
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &command):
		return int(command)
	case errors.Is(err, client.ErrUnknown), errors.Is(err, client.ErrDropped):
		return exitUnknown
	case errors.As(err, new(usageError)), errors.Is(err, client.ErrInvalid):
		return exitUsage
	}
	return exitFailed
}

// outcomes are the words of --json for how a call ended.
var outcomes = []struct {
	kind error
	word string
}{
	{client.ErrNotFound, "not found"}, {client.ErrCondition, "condition failed"}, {client.ErrNotApplied, "not applied"},
	{client.ErrUnknown, "unknown"}, {client.ErrKeyReused, "key reused"}, {client.ErrNoSpace, "no space"},
	{client.ErrTooLarge, "too large"}, {client.ErrInvalid, "invalid"}, {client.ErrForbidden, "forbidden"},
	{client.ErrUnavailable, "unavailable"}, {client.ErrNoSession, "no session"}, {client.ErrFenced, "fenced"},
	{client.ErrNotNumber, "not a number"}, {client.ErrDropped, "result lost"}, {client.ErrLost, "lost"},
	{client.ErrBusy, "busy"},
}

// endpointsHint is what to do if nothing listens at the endpoints.
func (a *app) endpointsHint() string {
	return "nothing listens at " + strings.Join(a.endpoints, ", ") + ": start the nodes, or say where they are with --endpoints or " + endpointsVariable
}

// complain says on standard error how the command failed and what to do.
func (a *app) complain(err error) {
	if errors.Is(err, errQuiet) || errors.As(err, new(child.Exit)) {
		return
	}
	var once client.Once
	var e *client.Error
	if a.settles && errors.As(err, &e) && errors.Is(err, client.ErrUnknown) {
		once = e.Once
	}
	if a.json {
		out := struct {
			Error   string  `json:"error"`
			Outcome string  `json:"outcome"`
			Key     string  `json:"idempotency_key,omitempty"`
			Base    *uint64 `json:"base,omitempty"`
			Hint    string  `json:"hint,omitempty"`
			Failed  []line  `json:"failed,omitempty"`
		}{Error: err.Error(), Outcome: "failed", Key: once.Key}
		if lines := (txnFailed{}); errors.As(err, &lines) {
			out.Failed = lines.lines
		}
		for _, o := range outcomes {
			if errors.Is(err, o.kind) {
				out.Outcome = o.word
			}
		}
		if errors.As(err, new(usageError)) {
			out.Outcome = "usage"
		}
		if errors.Is(err, client.ErrRefused) {
			out.Hint = a.endpointsHint()
		}
		if once.Key != "" {
			out.Base = &once.Base
		}
		_ = json.NewEncoder(a.stderr).Encode(out)
		return
	}
	for text := range strings.Lines(strings.TrimSpace(err.Error())) {
		fmt.Fprintf(a.stderr, "kvctl: %s\n", strings.TrimSpace(text))
	}
	if errors.Is(err, client.ErrRefused) {
		fmt.Fprintf(a.stderr, "kvctl: %s\n", a.endpointsHint())
	}
	if once.Key != "" {
		fmt.Fprintf(a.stderr, "kvctl: it may have been applied, or may still be; to settle it, run the same command again with\n"+
			"kvctl:   --idempotency-key %s --base %d\n", once.Key, once.Base)
	}
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the revision that was built",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *app) printVersion() error {
	info := buildinfo.Read()
	return a.print(info, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, info.Line("kvctl"))
		return err
	})
}
