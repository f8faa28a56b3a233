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

// BuildKvctl compiles kvctl into dir and returns its path.
func BuildKvctl(ctx context.Context, dir string) (string, error) {
	return compile(ctx, dir, "kvctl", "./cmd/kvctl")
}

// BuildTamper compiles into dir the program that changes a value in the state of a stopped node, and returns its path.
func BuildTamper(ctx context.Context, dir string) (string, error) {
	return compile(ctx, dir, "tamper", "./jepsen/tamper")
}

// BuildTestClock is Build with a clock that errs on purpose: see Clocks.
func BuildTestClock(ctx context.Context, dir string) (Binaries, error) {
	return build(ctx, dir, "kvnode-testclock", "-tags", "tenure_testclock")
}

// BuildVersion is Build of a release with that version.
func BuildVersion(ctx context.Context, dir, version string) (string, error) {
	return compile(ctx, dir, "kvnode-"+version, "./cmd/kvnode", "-ldflags", "-X tenure/internal/buildinfo.Version="+version)
}

// BuildOlder compiles kvnode and kvctl into dir as an older release would be: they know no feature level of this one
// (kv.NewestLevel).
func BuildOlder(ctx context.Context, dir string) (kvnode, kvctl string, err error) {
	flags := []string{"-tags", "tenure_older", "-ldflags", "-X tenure/internal/buildinfo.Version=0.0.1"}
	if kvnode, err = compile(ctx, dir, "kvnode-older", "./cmd/kvnode", flags...); err != nil {
		return "", "", err
	}
	kvctl, err = compile(ctx, dir, "kvctl-older", "./cmd/kvctl", flags...)
	return kvnode, kvctl, err
}

func build(ctx context.Context, dir, name string, flags ...string) (Binaries, error) {
	path, err := compile(ctx, dir, name, "./cmd/kvnode", flags...)
	return Binaries{Kvnode: path}, err
}

// compile builds one program of the module that the working directory is in.
func compile(ctx context.Context, dir, name, program string, flags ...string) (string, error) {
	root, err := ModuleRoot(ctx)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build"}, flags...), "-o", path, program)...)
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, text)
	}
	return path, nil
}

// ModuleRoot returns the directory of the module that the working directory is in.
func ModuleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	mod := strings.TrimSpace(string(out))
	if err != nil || mod == "" || mod == os.DevNull {
		return "", fmt.Errorf("run this inside a checkout of the module: go env GOMOD says %q", mod)
	}
	return filepath.Dir(mod), nil
}
