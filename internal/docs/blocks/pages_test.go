package blocks

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var all = flag.Bool("all", false, "run the blocks of all pages, as the step `documents` of .ci/full does")

// TestThePagesAreTrue runs the command blocks of README.md and docs/*.md. Without -all it only reads them.
//
//	go test ./internal/docs/blocks -all -run TestThePagesAreTrue/api.md
func TestThePagesAreTrue(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	names := pages(t, root)
	if !*all {
		for _, name := range names {
			blocks(t, root, name)
		}
		return
	}
	if err := Possible(); err != nil {
		t.Skipf("the pages need a machine of their own, which needs root or namespaces of users: %v", err)
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-buildvcs=false", "-o", bin+"/", "../../../cmd/kvnode", "../../../cmd/kvctl")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range names {
		t.Run(path.Base(name), func(t *testing.T) {
			run := slices.DeleteFunc(blocks(t, root, name), func(b Block) bool { return b.NotRun != "" })
			if len(run) == 0 {
				t.Skip("it has no block that is run")
			}
			t.Parallel()
			play(t, root, bin, name, run)
		})
	}
}

func pages(t *testing.T, root string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(names) < 10 {
		t.Fatalf("%d pages: %v", len(names), err)
	}
	out := []string{"README.md"}
	for _, n := range names {
		out = append(out, "docs/"+filepath.Base(n))
	}
	return out
}

func blocks(t *testing.T, root, name string) []Block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	out, err := Parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

func play(t *testing.T, root, bin, name string, run []Block) {
	tree := t.TempDir()
	copyTree(t, root, tree)
	if err := os.CopyFS(filepath.Join(tree, "bin"), os.DirFS(bin)); err != nil {
		t.Fatal(err)
	}
	m, err := StartMachine(root, tree, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, err := range m.Close() {
			t.Errorf("%s: %v", name, err)
		}
	}()
	for _, b := range run {
		for _, s := range b.Steps(whole) {
			err := m.Run(s, b.Marks)
			if err != nil {
				t.Errorf("%s:%d: %s\n%v", name, s.Line, s.Command, err)
			}
			if errors.Is(err, errGone) {
				return
			}
		}
	}
}

// whole reports whether the lines are whole commands, and not the beginning of one.
func whole(lines string) bool {
	if strings.HasSuffix(lines, "\\") || strings.HasSuffix(lines, "|") {
		return false
	}
	out, err := exec.Command("bash", "-n", "-c", lines).CombinedOutput()
	return err == nil && len(out) == 0
}

// copyTree copies the module without what Git and other programs keep there.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir() && name != from && (slices.Contains([]string{".git", "node_modules", "bin"}, d.Name())):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type().IsRegular() && d.Name() != ".git":
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			return os.WriteFile(target, text, info.Mode().Perm())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
