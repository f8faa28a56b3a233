//go:build unix

package oslimit_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tenure/internal/oslimit"
)

// listener fails with one error after the other.
type listener struct {
	net.Listener
	errs []error
}

func (l *listener) Accept() (net.Conn, error) {
	if len(l.errs) == 0 {
		return nil, nil
	}
	err := l.errs[0]
	l.errs = l.errs[1:]
	return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
}

func TestAcceptWaits(t *testing.T) {
	told := 0
	l := &oslimit.Listener{Told: func(error) { told++ }, Listener: &listener{errs: []error{syscall.EMFILE, syscall.ENFILE,
		syscall.ECONNABORTED, syscall.ENOMEM, syscall.ENOBUFS}}}
	if _, err := l.Accept(); err != nil || told != 1 {
		t.Errorf("%v, told %d times", err, told)
	}
	l.Listener = &listener{errs: []error{syscall.EMFILE}}
	if _, err := l.Accept(); err != nil || told != 1 {
		t.Errorf("another wait at once: %v, told %d times", err, told)
	}
	l.Listener = &listener{errs: []error{syscall.EINVAL}}
	if _, err := l.Accept(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("%v, want an error that is no limit", err)
	}
}

// childVariable makes the test a process of its own, whose limit of open files binds no other test.
const childVariable = "OSLIMIT_TEST_CHILD"

func TestOpenFileWaits(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		child := exec.Command(os.Args[0], "-test.run", "^TestOpenFileWaits$")
		child.Env = append(os.Environ(), childVariable+"=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	name := filepath.Join(t.TempDir(), "file")
	if _, err := oslimit.Open(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want an error that is no limit", err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = 32
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	var taken []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if oslimit.Reached(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, f)
	}
	defer func() {
		for _, f := range taken[1:] {
			f.Close() // so that the directory can be read and removed
		}
	}()
	go func() {
		time.Sleep(3 * oslimit.Pause)
		taken[0].Close()
	}()
	f, err := oslimit.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(fmt.Errorf("while others have all files: %w", err))
	}
	f.Close()
}
