package cluster

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Release is an earlier release, as it is in the history of this repository.
type Release struct {
	Commit string // or a tag
	Level  uint64 // the highest feature level that it knows
	Name   string
}

//go:embed releases.txt
var releases string

// Releases returns the earlier releases that this one works together with, the oldest first.
func Releases() (out []Release, err error) {
	for line := range strings.Lines(releases) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		var r Release
		if _, err := fmt.Sscan(line, &r.Commit, &r.Level, &r.Name); err != nil {
			return nil, fmt.Errorf("releases.txt: %q: %w", line, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// ErrNoHistory is returned by BuildRelease if the release is not in the history that is here, as in a shallow clone.
var ErrNoHistory = errors.New("the release is not in the history of this repository")

// BuildRelease compiles kvnode and kvctl of a release into dir, from its own sources, which it takes out of git.
func BuildRelease(ctx context.Context, dir string, r Release) (kvnode, kvctl string, err error) {
	root, err := ModuleRoot(ctx)
	if err != nil {
		return "", "", err
	}
	if err := exec.CommandContext(ctx, "git", "-C", root, "cat-file", "-e", r.Commit+"^{commit}").Run(); err != nil {
		return "", "", fmt.Errorf("%w: %s (%s): a shallow clone lacks it: git fetch --unshallow", ErrNoHistory,
			r.Commit, r.Name)
	}
	if dir, err = filepath.Abs(filepath.Join(dir, r.Name)); err != nil {
		return "", "", err
	}
	source := filepath.Join(dir, "source")
	if err := os.MkdirAll(source, 0o755); err != nil {
		return "", "", err
	}
	defer os.RemoveAll(source)
	tar, err := exec.CommandContext(ctx, "git", "-C", root, "archive", "--format=tar", r.Commit).Output()
	if err != nil {
		return "", "", fmt.Errorf("take %s out of git: %w", r.Name, err)
	}
	unpack := exec.CommandContext(ctx, "tar", "-x", "-C", source)
	unpack.Stdin = bytes.NewReader(tar)
	if text, err := unpack.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("unpack %s: %w\n%s", r.Name, err, text)
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", dir, "./cmd/kvnode", "./cmd/kvctl")
	build.Dir = source
	if text, err := build.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("build %s: %w\n%s", r.Name, err, text)
	}
	return filepath.Join(dir, "kvnode"), filepath.Join(dir, "kvctl"), nil
}
