package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Binaries are the programs under test.
type Binaries struct{ Kvnode string }

// Build compiles kvnode of the module that the working directory is in, into dir.
func Build(ctx context.Context, dir string) (Binaries, error) { return build(ctx, dir, "kvnode") }

// BuildTestClock is Build with a clock that errs on purpose: see Clocks.
func BuildTestClock(ctx context.Context, dir string) (Binaries, error) {
	return build(ctx, dir, "kvnode-testclock", "-tags", "tenure_testclock")
}

func build(ctx context.Context, dir, name string, flags ...string) (Binaries, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return Binaries{}, err
	}
	b := Binaries{Kvnode: filepath.Join(dir, name)}
	args := append(append([]string{"build"}, flags...), "-o", b.Kvnode, "./cmd/kvnode")
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return Binaries{}, fmt.Errorf("build kvnode: %w\n%s", err, text)
	}
	return b, nil
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	mod := strings.TrimSpace(string(out))
	if err != nil || mod == "" || mod == os.DevNull {
		return "", fmt.Errorf("run this inside a checkout of the module: go env GOMOD says %q", mod)
	}
	return filepath.Dir(mod), nil
}
