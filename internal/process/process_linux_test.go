package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"tenure/internal/devcluster"
)

// TestMain makes the test binary a process that waits to be killed, if it has arguments like those of a node.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == nodeArg {
		for range 8 { // threads that have to end too
			go func() {
				for {
					time.Sleep(time.Microsecond)
				}
			}()
		}
		fmt.Println("running")
		select {}
	}
	os.Exit(m.Run())
}

const nodeArg = "/no/such/directory"

// A process that was killed is never seen gone before it is: whoever has seen that takes its port and its directory.
func TestGoneIsForGood(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &devcluster.State{Binary: exe}
	for range 50 {
		c := exec.Command(exe, nodeArg)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		n := devcluster.Node{ID: 1, PID: c.Process.Pid, Data: nodeArg, Args: []string{nodeArg}}
		if got := Look(s, n); got != Running {
			t.Fatalf("it is %v", got)
		}
		if err := c.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for Look(s, n) != Gone {
		}
		for range 100 {
			if got := Look(s, n); got != Gone {
				t.Errorf("it was gone, and then %v", got)
				break
			}
		}
		_ = c.Wait() // it was killed
	}
}
