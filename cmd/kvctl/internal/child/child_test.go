//go:build unix

package child

import (
	"bufio"
	"bytes"
	"context"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"
)

// A process that was stopped may find that its command has ended before it finds that the right is lost.
func TestWhatTheGuardHasEndedWasLost(t *testing.T) {
	for _, x := range []struct {
		name, script string
		lost         bool
	}{
		{"ended by the guard", "trap 'exit 0' TERM; echo; while :; do sleep 0.01; done", true},
		{"ended by itself", "exit", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", x.script)
			var out bytes.Buffer
			cmd.Stderr = &out
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			p, err := Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = stdout.Read(make([]byte, 1)) // returns once the trap is set, or the command has ended
			var asked atomic.Bool
			once := func() time.Duration { // the guard is told once, as by a process that is stopped then
				if asked.Swap(true) {
					return 0
				}
				return 100 * time.Millisecond
			}
			never := make(chan struct{})
			err, lost := p.Supervise(context.Background(), Right{Lost: never, Remaining: once}, 10*time.Second)
			if err != nil || lost != x.lost {
				t.Errorf("lost: %t, %v, %s", lost, err, out.String())
			}
		})
	}
}

// So may one that finds, when it goes on, that it was told to end meanwhile.
func TestWhatTheGuardHasEndedWasLostAlsoAfterASignal(t *testing.T) {
	cmd := exec.Command("sh", "-c", "trap 'echo ending; sleep 0.3; exit 0' TERM; echo; while :; do sleep 0.01; done")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	_, _ = out.ReadString('\n')
	var asked atomic.Bool
	once := func() time.Duration {
		if asked.Swap(true) {
			return 0
		}
		return 100 * time.Millisecond
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = out.ReadString('\n') // the guard ends the command
		cancel()
	}()
	if err, lost := p.Supervise(ctx, Right{Lost: make(chan struct{}), Remaining: once}, 10*time.Second); err != nil || !lost {
		t.Errorf("lost: %t, %v", lost, err)
	}
}
