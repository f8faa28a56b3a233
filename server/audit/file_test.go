package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tenure/internal/ownfile"
)

// contents returns what is in the files, the newest first.
func contents(t interface{ Fatal(...any) }, path string) (out []string) {
	for i := 0; ; i++ {
		name := path
		if i > 0 {
			name += "." + strconv.Itoa(i)
		}
		b, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
}

// Every line is whole in one file, in order. Only a file of a single line exceeds the limit. No more files are kept
// than configured.
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, strconv.Itoa(n))
		cfg := Config{Path: path, FileBytes: int64(rapid.IntRange(1, 60).Draw(t, "bytes")), Keep: rapid.IntRange(0,
			4).Draw(t, "keep")}
		f, err := openFile(cfg)
		if err != nil {
			t.Fatal(err)
		}
		all := ""
		for range rapid.IntRange(1, 12).Draw(t, "writes") {
			lines := ""
			for range rapid.IntRange(1, 6).Draw(t, "lines") {
				lines += strings.Repeat("x", rapid.IntRange(0, 40).Draw(t,
					"length")) + strconv.Itoa(len(all)+len(lines)) + "\n"
			}
			all += lines
			if w, err := f.Write([]byte(lines)); err != nil || w != len(lines) {
				t.Fatal(w, err)
			}
			if rapid.Bool().Draw(t, "restart") {
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				if f, err = openFile(cfg); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = f.Close()
		files, kept := contents(t, path), ""
		if len(files) > cfg.Keep+1 {
			t.Fatalf("%d files, and %d are to be kept", len(files), cfg.Keep)
		}
		for _, text := range files {
			if int64(len(text)) > cfg.FileBytes && strings.Count(text, "\n") > 1 {
				t.Fatalf("a file of %d bytes", len(text))
			}
			if text != "" && !strings.HasSuffix(text, "\n") {
				t.Fatalf("a line is cut: %q", text)
			}
			kept = text + kept
		}
		if !strings.HasSuffix(all, kept) || len(files) <= cfg.Keep && kept != all {
			t.Fatalf("kept %q of %q", kept, all)
		}
	})
}

func write(t *testing.T, f *file, text string) {
	t.Helper()
	if n, err := f.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatal(n, err)
	}
}

// Somebody else may move the file away, delete it or cut it off; a line that was cut off is ended.
func TestTheFileIsMovedByOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	if err := os.WriteFile(path, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openFile(Config{Path: path, FileBytes: 100, Keep: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write(t, f, "one\n")
	if got := contents(t, path); got[0] != "torn\none\n" {
		t.Errorf("%q", got)
	}
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	write(t, f, "two\n")
	if got := contents(t, path); got[0] != "two\n" {
		t.Errorf("%q", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, f, "three\n")
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	write(t, f, strings.Repeat("x", 98)+"\n")
	if got := contents(t, path); len(got) != 1 || len(got[0]) != 99 {
		t.Errorf("%q", got)
	}
}

// A file that cannot be moved away grows, and that is said: the log is worth more than the limit.
func TestAFileThatCannotBeMoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	if err := os.MkdirAll(filepath.Join(path+".1", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := openFile(Config{Path: path, FileBytes: 5, Keep: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write(t, f, "one\n")
	if n, err := f.Write([]byte("two\nthree\n")); n != 10 || !errors.Is(err, errNotMoved) {
		t.Errorf("%d, %v", n, err)
	}
	if b, err := os.ReadFile(path); string(b) != "one\ntwo\nthree\n" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// A line that fits on the disk only in part is removed again: a reader of JSON would stop at it.
func TestALineThatIsCutOffIsTakenBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	f, err := openFile(Config{Path: path, FileBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write(t, f, "one\n")
	if _, err := f.f.WriteString("two\nthr"); err != nil { // as a full disk leaves it
		t.Fatal(err)
	}
	if n := f.cutBack([]byte("two\nthr")); n != 4 {
		t.Errorf("%d bytes are whole lines", n)
	}
	f.close()
	write(t, f, "four\n")
	if got := contents(t, path); got[0] != "one\ntwo\nfour\n" {
		t.Errorf("%q", got)
	}
}

// A file that others can read becomes its owner's.
func TestTheFileIsItsOwners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	if err := os.WriteFile(path, []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := openFile(Config{Path: path, FileBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// TestTheAuditLogIsNotWrittenThroughALink: the file behind it keeps its bytes and its mode, also if the link comes
// while the log is open.
func TestTheAuditLogIsNotWrittenThroughALink(t *testing.T) {
	dir := t.TempDir()
	path, victim := filepath.Join(dir, "audit"), filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	link := func() {
		t.Helper()
		if err := os.Symlink(victim, path); err != nil {
			t.Fatal(err)
		}
	}
	link()
	cfg := Config{Path: path, FileBytes: 1000, Keep: 1}
	if f, err := openFile(cfg); !errors.Is(err, ownfile.ErrForeign) {
		t.Errorf("%v", err)
		f.close()
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f, err := openFile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write(t, f, "one\n")
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	link()
	if n, err := f.Write([]byte("two\n")); n != 0 || !errors.Is(err, ownfile.ErrForeign) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
	if info, err := os.Stat(victim); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
