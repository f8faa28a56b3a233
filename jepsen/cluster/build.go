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
func Build(ctx context.Context, dir string) (Binaries, error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return Binaries{}, err
	}
	b := Binaries{Kvnode: filepath.Join(dir, "kvnode")}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", b.Kvnode, "./cmd/kvnode")
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
