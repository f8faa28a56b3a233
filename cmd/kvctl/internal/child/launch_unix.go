//go:build unix

package child

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// launch starts a command in two steps, so that it does nothing before its guard knows it: the command may make itself a
// group of its own at once, of which the guard learns by the command's number only. In the first step this very program is
// started instead, and waits; in the second the command takes its place.
type launch struct {
	path   string
	goOn   *os.File // a byte lets it go on; if this is closed before, it ends
	failed *os.File // why it could not; closed if it could
	theirs [2]*os.File
}

// newLaunch makes cmd the first step.
func newLaunch(cmd *exec.Cmd) (*launch, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	theirs, goOn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	failed, theirEnd, err := os.Pipe()
	if err != nil {
		theirs.Close()
		goOn.Close()
		return nil, err
	}
	l := &launch{path: cmd.Path, goOn: goOn, failed: failed, theirs: [2]*os.File{theirs, theirEnd}}
	first := strconv.Itoa(3 + len(cmd.ExtraFiles)) // behind standard error
	cmd.ExtraFiles = append(cmd.ExtraFiles, l.theirs[:]...)
	cmd.Args = append([]string{program, LaunchCommand, first, cmd.Path}, cmd.Args...)
	cmd.Path = program
	return l, nil
}

// started is called when the first step is done, or has failed.
func (l *launch) started() {
	for _, f := range l.theirs {
		f.Close()
	}
}

// release has the command take its place. An error is as if it had been started at once.
func (l *launch) release() error {
	defer l.close()
	if _, err := l.goOn.Write([]byte{1}); err != nil {
		return err
	}
	why, err := io.ReadAll(l.failed)
	if err != nil || len(why) == 0 {
		return err
	}
	number, err := strconv.Atoi(string(why))
	if err != nil {
		return fmt.Errorf("start %s: %w", l.path, err)
	}
	return &os.PathError{Op: "fork/exec", Path: l.path, Err: syscall.Errno(number)}
}

// close ends a first step that waits yet.
func (l *launch) close() {
	l.goOn.Close()
	l.failed.Close()
}

// Launch is the first step, for a program whose first argument is LaunchCommand: args are those behind that. It does not
// return if the command could take the place of the program, and else returns the exit code.
func Launch(args []string) int {
	if len(args) < 3 {
		return notLaunched()
	}
	first, err := strconv.Atoi(args[0])
	if err != nil || first < 3 {
		return notLaunched()
	}
	syscall.CloseOnExec(first)
	syscall.CloseOnExec(first + 1)
	if n, err := syscall.Read(first, make([]byte, 1)); n != 1 || err != nil {
		return 1 // kvctl is gone
	}
	err = syscall.Exec(args[1], args[2:], os.Environ())
	if number, ok := err.(syscall.Errno); ok {
		_, _ = syscall.Write(first+1, strconv.AppendInt(nil, int64(number), 10))
	}
	return 127
}

func notLaunched() int {
	fmt.Fprintln(os.Stderr, "kvctl: "+LaunchCommand+" is run by kvctl itself")
	return 2
}
