package target

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// opened opens a target.
func opened(t testing.TB, text string) Target {
	t.Helper()
	x, err := Open(text, Config{})
	must(t, err)
	t.Cleanup(func() { must(t, x.Close()) })
	return x
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, x Target, name string) string {
	t.Helper()
	r, err := x.Get(t.Context(), name)
	must(t, err)
	b, err := io.ReadAll(r)
	must(t, errors.Join(err, r.Close()))
	return string(b)
}

func names(t testing.TB, x Target, prefix string) (all []string) {
	t.Helper()
	list, err := x.List(t.Context(), prefix)
	must(t, err)
	for _, o := range list {
		all = append(all, o.Name)
	}
	return all
}

// contract is what every kind of target must do.
func contract(t *testing.T, x Target) {
	ctx := t.Context()
	if list, err := x.List(ctx, ""); err != nil || len(list) != 0 {
		t.Fatalf("%v %v", list, err)
	}
	content := map[string]string{"a/b/c": "1", "a-b": "", "a/d": "x", "a.x": strings.Repeat("long", 100_000), "b": "2"}
	for name, text := range content {
		must(t, x.Put(ctx, name, strings.NewReader("before")))
		must(t, x.Put(ctx, name, iotest.HalfReader(strings.NewReader(text))))
	}
	for prefix, want := range map[string]string{
		"": "a-b a.x a/b/c a/d b", "a": "a-b a.x a/b/c a/d", "a/": "a/b/c a/d", "a/b/": "a/b/c", "b": "b", "c": "",
		"a/b/c/d": "",
	} {
		if got := names(t, x, prefix); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("prefix %q: %q, want %s", prefix, got, want)
		}
	}
	list, err := x.List(ctx, "")
	must(t, err)
	_, sealed := x.(*encrypted)
	for _, o := range list {
		text := get(t, x, o.Name)
		if text != content[o.Name] || (o.Bytes == int64(len(text))) == sealed ||
			time.Since(o.Modified).Abs() > time.Hour {
			t.Errorf("%+v has %d bytes", o, len(text))
		}
	}
	broken := errors.New("the source is gone")
	for _, name := range []string{"b", "new/one"} {
		err := x.Put(ctx, name, io.MultiReader(strings.NewReader("part"), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
		ended, end := context.WithCancelCause(ctx)
		end(broken)
		err = x.Put(ended, name, strings.NewReader("part"))
		if !errors.Is(err, broken) && !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	if text := get(t, x, "b"); text != "2" {
		t.Errorf("after a Put that failed: %q", text)
	}
	for range 2 {
		must(t, x.Delete(ctx, "a/b/c"))
		must(t, x.Delete(ctx, "a-b/c"))
	}
	for _, name := range []string{"a/b/c", "new/one", "a/b/c/d", "a-b/c", "none"} {
		if _, err := x.Get(ctx, name); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := names(t, x, "new"); got != nil {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"", "/a", "a/", "a//b", "..", "a/../b", ".a", "a/./b", "a b", "a\\b", "a\x00", "ä",
		strings.Repeat("a", 181), strings.Repeat("a/", 256) + "a"} {
		_, err := x.Get(ctx, name)
		err = errors.Join(err, x.Put(ctx, name, strings.NewReader("")), x.Delete(ctx, name))
		if !errors.Is(err, ErrName) ||
			strings.Count(err.Error(), ErrName.Error()) != 3 {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestDirectory(t *testing.T) {
	contract(t, opened(t, t.TempDir()))
	contract(t, opened(t, "file://"+t.TempDir()))
}

// TestWhatIsNoObject: hidden files, links and temporary ones are not listed, and temporary ones go once they are old.
func TestWhatIsNoObject(t *testing.T) {
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, "sub"), 0o700))
	old, young := filepath.Join(root, "sub", ".tenure-A.partial"), filepath.Join(root, ".tenure-B.partial")
	others := []string{filepath.Join(root, ".hidden"), filepath.Join(root, "with space")}
	for _, name := range append(others, old, young) {
		must(t, os.WriteFile(name, []byte("x"), 0o600))
	}
	must(t, os.Symlink(others[0], filepath.Join(root, "link")))
	past := time.Now().Add(-25 * time.Hour)
	must(t, os.Chtimes(old, past, past))
	must(t, os.Chtimes(others[0], past, past))
	x := opened(t, root)
	if got := names(t, x, ""); got != nil {
		t.Errorf("%q", got)
	}
	must(t, x.Put(t.Context(), "a", strings.NewReader("")))
	if _, err := os.Lstat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old one: %v", err)
	}
	for _, name := range append(others, young) {
		if _, err := os.Lstat(name); err != nil {
			t.Error(err)
		}
	}
}

// TestNothingIsWrittenOutsideOfTheDirectory: a link in the place of a directory of objects leads nowhere.
func TestNothingIsWrittenOutsideOfTheDirectory(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(other, "mine"), []byte("mine"), 0o600))
	must(t, os.Symlink(other, filepath.Join(root, "sub")))
	must(t, os.Symlink(filepath.Join(other, "mine"), filepath.Join(root, "a")))
	x := opened(t, root)
	for _, name := range []string{"sub/new", "sub/mine", "sub/deeper/new"} {
		if err := x.Put(t.Context(), name, strings.NewReader("x")); err == nil {
			t.Errorf("%s was put", name)
		}
		if err := x.Delete(t.Context(), name); err == nil {
			t.Errorf("%s was deleted", name)
		}
	}
	must(t, x.Put(t.Context(), "a", strings.NewReader("x"))) // in place of the link
	entries, err := os.ReadDir(other)
	must(t, err)
	if b, err := os.ReadFile(filepath.Join(other, "mine")); len(entries) != 1 || err != nil || string(b) != "mine" {
		t.Errorf("%v, %q, %v", entries, b, err)
	}
}

func TestADirectoryThatIsNotThereIsNotMade(t *testing.T) {
	root := filepath.Join(t.TempDir(), "unmounted")
	x := opened(t, root)
	_, list := x.List(t.Context(), "")
	_, got := x.Get(t.Context(), "a")
	for _, err := range []error{x.Put(t.Context(), "a", strings.NewReader("")), x.Delete(t.Context(), "a"), list, got} {
		if !errors.Is(err, ErrMissing) {
			t.Errorf("%v", err)
		}
	}
	if _, err := os.Lstat(root); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestTextsThatNameNoTarget(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "it is empty",
		"ftp://x":                   `scheme "ftp"`,
		"file://host/dir":           "file:///absolute/path",
		"s3:/b/p":                   "write s3://BUCKET/PREFIX",
		"S3:b":                      "write s3://BUCKET/PREFIX",
		"s3:/AKIA:hunter2@b":        "write s3://BUCKET/PREFIX",
		"file:/b":                   "write file:///absolute/path",
		"s3://AKIA:hunter2@b/p":     "credentials come from AWS_ACCESS_KEY_ID",
		"s3://AKIA:hunter2%zz@b/%p": "it is no URL",
	} {
		_, err := Open(text, Config{})
		if !errors.Is(err, ErrURL) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
