//go:build unix

package child

import (
	"os/exec"
	"testing"
	"time"
)

// The guard may take a while to learn of the command.
func TestTheFirstStepWaits(t *testing.T) {
	cmd := exec.Command("true")
	l, err := newLaunch(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l.started()
	time.Sleep(100 * time.Millisecond)
	if err := l.release(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
