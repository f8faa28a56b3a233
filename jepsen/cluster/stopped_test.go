package cluster

import (
	"os/exec"
	"syscall"
	"testing"
)

func TestAwaitStopped(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if stopped, err := allStopped(pid); stopped || err != nil {
		t.Errorf("while it runs: %t, %v", stopped, err)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := awaitStopped(pid); err != nil {
		t.Error(err)
	}
	if stopped, err := allStopped(pid); !stopped || err != nil {
		t.Errorf("after SIGSTOP: %t, %v", stopped, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := awaitStopped(pid); err != nil {
		t.Errorf("after its end: %v", err)
	}
}
