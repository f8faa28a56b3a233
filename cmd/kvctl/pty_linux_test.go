package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// openPTY returns the two ends of a new terminal of 50 lines.
func openPTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 160})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// terminal is a program on a terminal of its own.
type terminal struct {
	t      *testing.T
	master *os.File
	mu     sync.Mutex
	out    bytes.Buffer
}

// onTerminal starts a program on a terminal. It is killed at the end of the test.
func onTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	master, slave := openPTY(t)
	x := &terminal{t: t, master: master}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err := cmd.Start()
	slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			if bytes.Contains(b[:n], []byte("\x1b[c")) || bytes.Contains(b[:n], []byte("\x1b[0c")) {
				_, _ = master.WriteString("\x1b[?62c") // some shells ask what the terminal is, and wait for the answer
			}
			x.mu.Lock()
			x.out.Write(b[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		<-read
	})
	return x
}

// typed types keys.
func (x *terminal) typed(keys string) {
	x.t.Helper()
	if _, err := x.master.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// output returns all that was written to the terminal.
func (x *terminal) output() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out.String()
}

// await waits until text has been written behind the first from bytes, and returns the position behind it.
func (x *terminal) await(from int, text string) int {
	x.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		all := x.output()
		if i := strings.Index(all[from:], text); i >= 0 {
			return from + i + len(text)
		}
		if time.Now().After(end) {
			x.t.Fatalf("there is no %q in %q", text, all[from:])
		}
	}
}
