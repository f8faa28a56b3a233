package main

import (
	"context"
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
	"tenure/internal/completion"
)

// The exit codes.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitUnknown = 3

	exitBrokenPipe = 128 + 13 // as a shell has it for SIGPIPE
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == child.GuardCommand {
		os.Exit(child.Guard(os.Stdin, os.Stdout))
	}
	if len(os.Args) > 1 && os.Args[1] == child.LaunchCommand {
		os.Exit(child.Launch(os.Args[2:]))
	}
	child.SurviveBrokenPipes()
	ctx, stop := signal.NotifyContext(context.Background(), child.Endings()...)
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run carries out one command line and returns the exit code. It ends soon after ctx does.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == completion.Request {
		completion.Run(args[1:], environ, stdout, func(words []string, current string) completion.Answer {
			return candidates(ctx, environ, words, current)
		})
		return exitDone
	}
	a := newApp(environ, stdin, stdout, stderr)
	root := newRoot(a)
	args = negativeNumbers(root, doubleDashes(root, args))
	root.SetArgs(append([]string{}, args...)) // never nil: cobra would take those of the process
	err := root.ExecuteContext(ctx)
	a.close()
	if a.output.err != nil && (err == nil || errors.Is(err, a.output.err)) {
		err = a.notPrinted()
	}
	if err == nil {
		return exitDone
	}
	if errors.Is(err, syscall.EPIPE) && errors.Is(err, a.output.err) && !a.changes {
		return exitBrokenPipe // as silently as any other program whose reader has enough
	}
	if !a.started && a.output.err == nil && !errors.As(err, new(usageError)) {
		err = usageError{err} // cobra's own complaints
	}
	a.complain(err)
	return exitCode(err)
}

// errDoneUnseen is wrapped by the error of a command that succeeded but could not print its result.
var errDoneUnseen = errors.New("it was done")

// notPrinted returns the error of a command whose output could not be written.
func (a *app) notPrinted() error {
	if a.changes {
		return fmt.Errorf("%w, and what came of it could not be printed: %w", errDoneUnseen, a.output.err)
	}
	return fmt.Errorf("the output could not be written: %w", a.output.err)
}

// errQuiet fails a command that has said all there is to say.
var errQuiet = errors.New("failed")

func exitCode(err error) int {
	var command child.Exit
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &command):
		return int(command)
	case errors.Is(err, client.ErrUnknown), errors.Is(err, client.ErrDropped), errors.Is(err, errDoneUnseen):
		return exitUnknown
	case errors.As(err, new(usageError)), errors.Is(err, client.ErrInvalid):
		return exitUsage
	}
	return exitFailed
}

// outcomes are what --json calls the ways in which a call can fail. Those with exitUnknown come first: the word of an
// error with several kinds is the first here.
var outcomes = []struct {
	kind error
	word string
}{
	{errDoneUnseen, "done"}, {client.ErrUnknown, "unknown"}, {client.ErrDropped, "result lost"},
	{client.ErrNotFound, "not found"}, {client.ErrCondition, "condition failed"}, {client.ErrNotApplied, "not applied"},
	{client.ErrKeyReused, "key reused"}, {client.ErrNoSpace, "no space"},
	{client.ErrTooLarge, "too large"}, {client.ErrInvalid, "invalid"}, {client.ErrForbidden, "forbidden"},
	{client.ErrUnavailable, "unavailable"}, {client.ErrNoSession, "no session"}, {client.ErrFenced, "fenced"},
	{client.ErrNotNumber, "not a number"}, {client.ErrLost, "lost"},
	{client.ErrBusy, "busy"}, {client.ErrMembers, "members not changed"},
	{client.ErrFeatureLevel, "feature level too low"},
	{client.ErrDenied, "denied"}, {client.ErrUnknownToken, "unknown token"},
}

// failure is a failed command with --json.
type failure struct {
	Error   string  `json:"error"`
	Outcome string  `json:"outcome"`
	Key     string  `json:"idempotency_key,omitempty"`
	Base    *uint64 `json:"base,omitempty"`
	Hint    string  `json:"hint,omitempty"`
	Failed  []line  `json:"failed,omitempty"`
}

// complain prints on standard error why the command failed and what to do.
func (a *app) complain(err error) {
	if errors.Is(err, errQuiet) || errors.As(err, new(child.Exit)) {
		return
	}
	f := failure{Error: err.Error(), Outcome: outcomeWord(err)}
	if lines := (txnFailed{}); errors.As(err, &lines) {
		f.Failed = lines.lines
	}
	switch {
	case errors.Is(err, client.ErrRefused):
		f.Hint = fmt.Sprintf("nothing listens at %s: start the nodes, or give their addresses with --endpoints or %s",
			strings.Join(a.endpoints, ", "), endpointsVariable)
	case errors.Is(err, client.ErrNoSuchHost):
		f.Hint = fmt.Sprintf("none of these hosts exists: %s; give the addresses of the nodes with --endpoints or %s",
			strings.Join(a.endpoints, ", "), endpointsVariable)
	}
	var e *client.Error
	if a.repeatable && errors.Is(err, client.ErrUnknown) && errors.As(err, &e) && e.Once.Key != "" {
		f.Key, f.Base = e.Once.Key, &e.Once.Base
	}
	if a.json {
		_ = printJSON(a.stderr, f)
		return
	}
	for text := range strings.Lines(strings.TrimSpace(f.Error)) {
		a.note("%s", strings.TrimSpace(text))
	}
	if f.Hint != "" {
		a.note("%s", f.Hint)
	}
	if f.Key != "" {
		a.note("it may have been applied, or may still be; to settle it, run the same command again with")
		a.note("  --idempotency-key %s --base %d", f.Key, *f.Base)
	}
}

// outcomeWord returns the word of --json for err.
func outcomeWord(err error) string {
	if errors.As(err, new(usageError)) {
		return "usage"
	}
	for _, o := range outcomes {
		if errors.Is(err, o.kind) {
			return o.word
		}
	}
	return "failed"
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the revision it was built from",
		Args:  arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			info := buildinfo.Read()
			return a.printf(info, "%s\n", info.Line("kvctl"))
		},
	}
}
