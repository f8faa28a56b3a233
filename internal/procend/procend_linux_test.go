package procend

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// childVariable makes the test binary a process that listens on a port while its first thread has ended: so does a
// killed process for a while.
const childVariable = "PROCEND_TEST_CHILD"

func init() {
	if os.Getenv(childVariable) != "" {
		runtime.LockOSThread() // the first thread stays the main goroutine's
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // of this thread alone
}

func TestAProcessWithoutItsFirstThreadIsEnding(t *testing.T) {
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), childVariable+"=1")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid := c.Process.Pid
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr = addr[:len(addr)-1]
	for {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && len(b) == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := net.Listen("tcp", addr); err == nil {
		t.Fatal("its port is free: this tests nothing")
	}
	if !Ending(pid) {
		t.Error("it holds its port and is not ending")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for Ending(pid) {
		time.Sleep(100 * time.Microsecond)
	}
	if l, err := net.Listen("tcp", addr); err != nil {
		t.Errorf("after its end: %v", err)
	} else {
		_ = l.Close()
	}
	_ = c.Wait()
	for what, pid := range map[string]int{"a process that runs": os.Getpid(), "one that was reaped": pid,
		"a kernel thread": 2, "none": 0} {
		if Ending(pid) {
			t.Errorf("%s is ending", what)
		}
	}
}
