//go:build unix

package child

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// launch starts a command in two steps, so that it does nothing before its guard knows it. The command may move into
// its own process group at once, and the guard finds that group only by the command's number. In the first step this
// very program is started instead, and waits; in the second the command takes its place.
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
	args := []string{program, LaunchCommand}
	for _, f := range l.theirs {
		// The file keeps its number: any other number may be that of a file which the command inherits.
		number, err := inherited(f)
		if err != nil {
			l.started()
			l.close()
			return nil, err
		}
		args = append(args, strconv.Itoa(number))
	}
	cmd.Args = append(append(args, cmd.Path), cmd.Args...)
	cmd.Path = program
	return l, nil
}

// inherited has the processes that are started from now on inherit f, and returns its number.
func inherited(f *os.File) (number int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		number = int(fd)
		_, failed = unix.FcntlInt(fd, unix.F_SETFD, 0)
	})
	return number, errors.Join(err, failed)
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
	if len(args) < 4 {
		return notLaunched()
	}
	goOn, err := strconv.Atoi(args[0])
	failed, err2 := strconv.Atoi(args[1])
	if err != nil || err2 != nil || min(goOn, failed) < 3 {
		return notLaunched()
	}
	syscall.CloseOnExec(goOn)
	syscall.CloseOnExec(failed)
	if !waited(goOn) {
		return 1 // kvctl is gone
	}
	err = syscall.Exec(args[2], args[3:], os.Environ())
	if number, ok := err.(syscall.Errno); ok {
		_, _ = syscall.Write(failed, strconv.AppendInt(nil, int64(number), 10))
	}
	return 127
}

// waited waits for the byte that lets the first step go on, and reports whether it came. kvctl has made the pipe one that
// does not wait.
func waited(goOn int) bool {
	if err := syscall.SetNonblock(goOn, false); err != nil {
		return false
	}
	for {
		n, err := syscall.Read(goOn, make([]byte, 1))
		if !errors.Is(err, syscall.EINTR) {
			return n == 1
		}
	}
}

func notLaunched() int {
	fmt.Fprintln(os.Stderr, "kvctl: "+LaunchCommand+" is run by kvctl itself")
	return 2
}
