package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenure/internal/freeport"
)

// signalsEnv has the command line of the node that TestSignalsChild is.
const signalsEnv = "KVNODE_TEST_SIGNALS"

// TestSignalsChild is no test, but the node of TestTheLogsReaderAndTheTerminalGo.
func TestSignalsChild(t *testing.T) {
	if line := os.Getenv(signalsEnv); line != "" {
		os.Exit(execute(strings.Fields(line), nil, os.Stdout, os.Stderr))
	}
}

// A node goes on when nobody reads its log any more, and when its terminal is closed.
func TestTheLogsReaderAndTheTerminalGo(t *testing.T) {
	port, err := freeport.Run(2)
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	node := exec.Command(os.Args[0], "-test.run", "^TestSignalsChild$")
	node.Env = append(os.Environ(), signalsEnv+"=--guardian=false --data "+t.TempDir()+"/data --client "+
		freeport.Address(port)+" --peer "+freeport.Address(port+1))
	node.Stderr = w
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	defer func() { _ = node.Process.Kill() }()
	_ = r.SetReadDeadline(time.Now().Add(time.Minute))
	log := bufio.NewReader(r)
	for line := ""; !strings.Contains(line, "this node is the master"); {
		if line, err = log.ReadString('\n'); err != nil {
			t.Fatalf("the node is not ready: %v", err)
		}
	}
	_ = r.Close()
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} { // each is a line of log
		if err := node.Process.Signal(s); err != nil {
			t.Error(err)
		}
	}
	if err := node.Wait(); err != nil {
		t.Errorf("the node ended with %v", err)
	}
}
