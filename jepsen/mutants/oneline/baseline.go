package oneline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// A process of a test is ended when it has more memory than this: the machine is not its own.
const maxMemoryBytes = 3 << 30

// test is one test function, and what it does without a mutant.
type test struct {
	Package string              `json:"package"`
	Name    string              `json:"name"`
	Seconds float64             `json:"seconds"`
	Passes  bool                `json:"passes"`
	Reach   map[string]struct{} `json:"-"`
	Calls   []string            `json:"calls"` // the functions of mutated packages
}

func (t *test) key() string { return t.Package + " " + t.Name }

// runner builds and runs test binaries in one directory of its own.
type runner struct {
	root, dir string
}

// build compiles the tests of a package. It returns "" and what the compiler said if they do not compile.
func (r *runner) build(ctx context.Context, pkg, overlay, suffix string) (bin, output string, err error) {
	bin = filepath.Join(r.dir, strings.ReplaceAll(pkg, "/", "__")+suffix+".test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-p", "1", "-vet=off", "-overlay", overlay, "-o", bin, "./"+pkg)
	cmd.Dir = r.root
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if errors.As(err, &failed) && ctx.Err() == nil {
		return "", string(out), nil
	}
	return bin, string(out), err
}

// ending is how a test process ended.
type ending struct {
	passed   bool
	hung     bool // it took too long
	bloated  bool // it took too much memory
	output   string
	duration time.Duration
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// run runs tests of a binary in its package's directory until one fails.
func (r *runner) run(ctx context.Context, bin, pkg, pattern string, limit time.Duration, overlay string,
	env ...string) ending {
	tmp, err := os.MkdirTemp(r.dir, "tmp")
	if err != nil {
		panic(err) // the directory is ours
	}
	defer os.RemoveAll(tmp)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// A runaway must not fill the disk: files of at most 4 GiB, in blocks of 512 bytes.
	cmd := exec.Command("/bin/sh", "-c", `ulimit -f 8388608; exec "$0" "$@"`, bin, "-test.run", pattern, "-test.short",
		"-test.failfast", "-test.v", "-test.timeout", (2 * limit).String())
	cmd.Dir = filepath.Join(r.root, pkg)
	cmd.Env = append(append(os.Environ(), "TMPDIR="+tmp, "GOFLAGS=-overlay="+overlay), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return ending{output: err.Error()}
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var e ending
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-done:
			e.passed, e.output, e.duration = err == nil && !e.hung && !e.bloated, out.String(), time.Since(began)
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // children that it left; mostly there are none
			return e
		case <-ctx.Done():
			e.hung = true
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			ctx = context.Background()
		case <-look.C:
			if memory(cmd.Process.Pid) > maxMemoryBytes {
				e.bloated = true
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			}
		}
	}
}

// memory is the resident size of a process in bytes, 0 if it is not known.
func memory(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var size, resident int64
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

// baseline measures the tests of a package, each alone. Those in known are not measured again.
func (r *runner) baseline(ctx context.Context, bin, pkg, overlay string, known map[string]*test) ([]*test, error) {
	list := exec.CommandContext(ctx, bin, "-test.list", "^(Test|Fuzz|Example)")
	list.Dir = filepath.Join(r.root, pkg)
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("the list of tests of %s: %w", pkg, err)
	}
	var ts []*test
	for _, name := range strings.Fields(string(out)) {
		t := &test{Package: pkg, Name: name}
		if noKillers[t.key()] {
			continue
		}
		if k := known[t.key()]; k != nil && k.Passes {
			ts = append(ts, k)
			continue
		}
		reach := filepath.Join(r.dir, "reach")
		for range 2 {
			_ = os.Remove(reach)
			e := r.run(ctx, bin, pkg, "^"+name+"$", 5*time.Minute, overlay, reachEnv+"="+reach)
			if t.Passes, t.Seconds = e.passed, e.duration.Seconds(); t.Passes {
				break
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		b, _ := os.ReadFile(reach) // a test that calls nothing writes nothing
		t.Calls = strings.Split(strings.TrimSpace(string(b)), "\n")
		ts = append(ts, t)
	}
	return ts, nil
}

func readBaseline(path string) (map[string]*test, error) {
	known := map[string]*test{}
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	var ts []*test
	if err := json.Unmarshal(b, &ts); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, t := range ts {
		known[t.key()] = t
	}
	return known, nil
}

func writeBaseline(path string, ts []*test) error {
	b, err := json.Marshal(ts)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}
