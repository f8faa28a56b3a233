package dev

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"tenure/internal/devcluster"
	"tenure/internal/freeport"
)

const waitLimit = 20 * time.Second // of a condition; far longer than it takes

// screen is what a person would see, and can be waited on.
type screen struct {
	mu   sync.Mutex
	text string
	more chan struct{}
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	s.text += string(b)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (s *screen) now() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text
}

// await returns once the pattern was shown, with its first group.
func (s *screen) await(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	late := time.After(waitLimit)
	for {
		if m := re.FindStringSubmatch(s.now()); m != nil {
			return m[len(m)-1]
		}
		select {
		case <-s.more:
		case <-late:
			t.Fatalf("%q was not shown; shown was\n%s", pattern, s.now())
		}
	}
}

// running is a supervisor under test.
type running struct {
	*screen
	t    *testing.T
	o    Options
	stop context.CancelFunc
	end  chan error
}

func options(t *testing.T, how string, nodes int) Options {
	t.Helper()
	t.Setenv(fakeEnv, how)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	setMaster(t, dir, 1)
	base := freePorts(t)
	return Options{
		Nodes: nodes, Data: dir, BasePort: base, PeerBasePort: base + 10, Binary: exe, Kvctl: "kvctl",
		Out: &screen{more: make(chan struct{}, 1)}, Check: func([]string) error { return nil },
	}
}

func begin(t *testing.T, o Options) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{screen: o.Out.(*screen), t: t, o: o, stop: cancel, end: make(chan error, 1)}
	go func() { r.end <- Run(ctx, o) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-r.end:
		default:
		}
	})
	return r
}

// await is the screen's, but gives up when Run has ended without showing the pattern.
func (r *running) await(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	awaitTrue(t, func() bool { return len(r.end) > 0 || re.MatchString(r.now()) })
	if !re.MatchString(r.now()) {
		t.Fatalf("%q was not shown, Run has ended: %v; shown was\n%s", pattern, <-r.end, r.now())
	}
	return r.screen.await(t, pattern)
}

// ended waits for Run and gives its error.
func (r *running) ended() error {
	r.t.Helper()
	select {
	case err := <-r.end:
		return err
	case <-time.After(waitLimit):
		r.t.Fatalf("the supervisor does not end; shown was\n%s", r.now())
		return nil
	}
}

func (r *running) state() *devcluster.State {
	r.t.Helper()
	s, err := readState(r.o.Data)
	if err != nil || s == nil {
		r.t.Fatalf("dev.json: %v %v", s, err)
	}
	return s
}

// nothingRuns checks that these processes are gone and that dev.json says so.
func (r *running) nothingRuns(before *devcluster.State) {
	r.t.Helper()
	for _, n := range before.Nodes {
		if runs(before.Binary, n, n.PID) {
			r.t.Errorf("node %d, pid %d, was left running", n.ID, n.PID)
		}
	}
	for _, n := range r.state().Nodes {
		if n.PID != 0 {
			r.t.Errorf("dev.json says that node %d runs as %d", n.ID, n.PID)
		}
	}
}

func setMaster(t *testing.T, dir string, id int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "master"), fmt.Append(nil, id), 0o600); err != nil {
		t.Fatal(err)
	}
}

// freePorts is the first of twenty.
func freePorts(t *testing.T) int {
	t.Helper()
	first, err := freeport.Run(20)
	if err != nil {
		t.Fatal(err)
	}
	return first
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in\n%s", p, text)
		}
	}
}
