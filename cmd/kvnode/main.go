package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"tenure/cmd/kvnode/dev"
	"tenure/internal/completion"
	"tenure/internal/ownfile"
	"tenure/internal/shown"
	"tenure/server"
	"tenure/server/guardian"
	"tenure/server/recovery"
)

// The exit codes. Go's runtime exits with 2 when it gives up, so no other error does: a supervisor is to restart the
// program then, but neither after a wrong configuration nor with a data directory that its cluster does not know.
const (
	exitFailed = 1
	exitWiped  = 65 // EX_DATAERR in sysexits.h
	exitConfig = 78 // EX_CONFIG
)

// errConfig is wrapped by every error about the configuration. Its own text is not shown.
var errConfig = errors.New("bad configuration")

// configError is one line that says what is wrong and how to mend it.
type configError string

func (e configError) Error() string { return string(e) }
func (e configError) Unwrap() error { return errConfig }

func badConfig(format string, args ...any) error { return configError(fmt.Sprintf(format, args...)) }

// guardianArg is the hidden subcommand as which kvnode runs itself beside itself.
const guardianArg = "guardian"

// guardianCommand runs this very program as a guardian, also when its file was replaced meanwhile. Only main sets it:
// in the test of a command line /proc/self/exe is the test.
var guardianCommand []string

// adaptive lets the node follow its use of processors and memory. Only main sets it: tests share their process.
var adaptive bool

func main() {
	if len(os.Args) == 2 && os.Args[1] == guardianArg {
		os.Exit(runGuardian(os.Stderr)) // before anything else, so that the process stays small
	}
	guardianCommand = []string{"/proc/self/exe", guardianArg}
	adaptive = true
	if os.Args[0] != initCommand[0] { // the command line of init is that of its child
		program = os.Args[0]
	}
	os.Exit(execute(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// runGuardian runs this process as a guardian.
func runGuardian(stderr io.Writer) int {
	if err := guardian.Main(); err != nil {
		fmt.Fprintf(stderr, "kvnode: %s\n", oneLine(err))
		return exitCode(err)
	}
	return 0
}

// execute runs the command line and returns the exit code.
func execute(args, environ []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == completion.Request {
		completion.Run(args[1:], environ, stdout, func(words []string, current string) completion.Answer {
			return completion.Of(context.Background(), newRoot(environ, io.Discard, io.Discard), words, current)
		})
		return 0
	}
	cmd := newRoot(environ, stdout, stderr)
	cmd.SetArgs(append([]string{}, args...)) // never nil: cobra would take the arguments of the process
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.Execute()
	if err == nil {
		return 0
	}
	if code := ended(0); errors.As(err, &code) {
		return int(code)
	}
	err = withOwner(err, args)
	showEnd(stderr, err)
	return exitCode(err)
}

// program is how this program was called. Only main sets it: tests have another.
var program = "kvnode"

// withOwner adds to the refusal of a directory or a file of another user what to type instead of this command line.
// Every subcommand that opens or makes a data directory ends here.
func withOwner(err error, args []string) error {
	var other *ownfile.OtherUser
	var reads *readingError
	switch {
	case errors.As(err, &reads) && reads.denied:
		return reads.fromRoot(args)
	case !errors.As(err, &other):
		return err
	}
	command := words([]string{program}) + " " + asOwner(err, other, args)
	return fmt.Errorf("%w; %s", err, other.Remedy(command, shown.Word(other.Dir)))
}

func exitCode(err error) int {
	var other *ownfile.OtherUser
	switch {
	case errors.As(err, new(*protectedError)):
		return exitConfig
	case errors.As(err, &other):
		return exitConfig
	case errors.Is(err, errConfig) || errors.Is(err, server.ErrConfig) || errors.Is(err, dev.ErrConfig) ||
		errors.Is(err, recovery.ErrRefused):
		return exitConfig
	case errors.Is(err, server.ErrWiped):
		return exitWiped
	case server.Removed(err):
		return 0
	}
	return exitFailed
}

// oneLine returns the message of err without the line breaks of some decoders.
func oneLine(err error) string { return shown.Text(strings.Join(strings.Fields(err.Error()), " ")) }
