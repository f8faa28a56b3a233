package runner

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
		l := newLoneLog(t)
		l.inbox.drain = l.drain
		func() {
			defer func() { _ = recover() }()
			l.inbox.put(logEvent{Event: replica.Event{Call: func(time.Duration) { panic("impossible") }}})
		}()
		return // rescued
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPanicOfARoundEndsTheProcess$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "panic: impossible") || !strings.Contains(string(out), "runner.(*Log).round") {
		t.Fatalf("%v: %s", err, out)
	}
}
