package server

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"tenure/server/replica"
)

// What the protocol makes impossible ends the process, also when the round runs on a goroutine that rescues its
// requests from panics.
func TestPanicOfARoundEndsTheProcess(t *testing.T) {
	const child = "TENURE_TEST_PANIC"
	if os.Getenv(child) != "" {
		n, l := newLoneLoop(t)
		n.inbox.drain = l.drain
		func() {
			defer func() { _ = recover() }()
			n.inbox.put(event{Event: replica.Event{Call: func(time.Duration) { panic("impossible") }}})
		}()
		return // rescued
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPanicOfARoundEndsTheProcess$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "panic: impossible") || !strings.Contains(string(out), "server.(*logLoop).round") {
		t.Fatalf("%v: %s", err, out)
	}
}
