package cluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// stopsWithin bounds how long a process may take to stop.
const stopsWithin = 10 * time.Second

// awaitStopped waits until all threads of a process have stopped: a thread that waits for a processor does so only when
// it gets one, and the others may carry out requests until then.
func awaitStopped(pid int) error {
	for end := time.Now().Add(stopsWithin); ; time.Sleep(100 * time.Microsecond) {
		stopped, err := allStopped(pid)
		if stopped || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("process %d has not stopped %v after SIGSTOP", pid, stopsWithin)
		}
	}
}

// allStopped reports whether all threads of a process are stopped, or the process has ended. A thread that waits for a
// disk (D) counts as stopped: it stops before it does anything else.
func allStopped(pid int) (bool, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false, err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		// The state follows the name, which is in parentheses and may have some itself.
		i := bytes.LastIndexByte(text, ')')
		if i < 0 || len(text) < i+3 {
			return false, fmt.Errorf("%s: %q", f, text)
		}
		if state := text[i+2]; state == 'R' || state == 'S' {
			return false, nil
		}
	}
	return true, nil
}
