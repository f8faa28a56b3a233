package storage

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tenure/internal/ownfile"
	"tenure/storage/internal/disk"
)

// nobody is a user without files.
const nobody = 65534

// givenAway returns a directory that has become nobody's, as fill has left it. Only root can make one.
func givenAway(t *testing.T, fill func(dir string)) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	dir := t.TempDir()
	fill(dir)
	must(t, filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(name, nobody, nobody))
	}))
	return dir
}

// Only its owner opens a data directory: what root makes in it the owner could not open. Nothing is made, or changed.
func TestOnlyTheOwnerOpensADirectory(t *testing.T) {
	stopped := func(dir string) { must(t, formed(t, dir).Close()) }
	locked := func(dir string) { stopped(dir); must(t, os.Remove(filepath.Join(dir, lockName))) }
	calls := map[string]func(dir string) error{
		"Open":         func(dir string) error { _, err := Open(dir, small); return err },
		"Open offline": func(dir string) error { _, err := Open(dir, Options{Offline: true}); return err },
		"ReadIdentity": func(dir string) error { _, _, err := ReadIdentity(dir); return err },
		"SetAside":     func(dir string) error { _, err := SetAside(dir, "aside"); return err },
	}
	for what, fill := range map[string]func(string){"empty": func(string) {}, "of a node": stopped, "without a lock": locked} {
		for call, do := range calls {
			dir := givenAway(t, fill)
			must(t, os.Chmod(dir, 0o755))
			before := names(t, dir)
			err := do(dir)
			var other *ownfile.OtherUser
			if !errors.As(err, &other) || !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), dir+" belongs to") {
				t.Errorf("%s of a directory, %s: %v", call, what, err)
			}
			info, err := os.Stat(dir)
			must(t, err)
			if now := names(t, dir); !slices.Equal(now, before) || info.Mode().Perm() != 0o755 {
				t.Errorf("%s of a directory, %s: %q, mode %v; before %q", call, what, now, info.Mode(), before)
			}
		}
	}
}

// Examine makes no file, so that root may look into a directory of anybody.
func TestAnybodysDirectoryIsExamined(t *testing.T) {
	dir := givenAway(t, func(dir string) { must(t, formed(t, dir).Close()) })
	must(t, os.Remove(filepath.Join(dir, lockName)))
	before := names(t, dir)
	x, err := Examine(dir)
	must(t, err)
	must(t, x.Close())
	if now := names(t, dir); !slices.Equal(now, before) {
		t.Errorf("%q, before %q", now, before)
	}
}

// A file of root in the node's own directory keeps the node from starting. The error names that file and the remedy.
func TestAFileOfAnotherUserIsNamed(t *testing.T) {
	if dir := os.Getenv("TENURE_TEST_OPEN"); dir != "" {
		_, err := Open(dir, small)
		if _, _, peek := ReadIdentity(dir); err == nil {
			err = peek
		}
		os.Stdout.WriteString(err.Error() + "\n")
		return
	}
	for _, name := range []string{lockName, disk.LogName, disk.StateName, disk.JournalName, disk.SumsName} {
		dir := givenAway(t, func(dir string) { must(t, formed(t, dir).Close()) })
		path := filepath.Join(dir, name)
		must(t, os.Chown(path, 0, 0))
		must(t, os.Chmod(path, 0o600))
		if got := openAsNobody(t, dir); !strings.Contains(got, "cannot open "+path+": permission denied; it belongs to user "+
			"root: type as root: chown -R "+ownfile.UserName(nobody)+": "+dir) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// openAsNobody returns the error with which nobody's process opens dir.
func openAsNobody(t *testing.T, dir string) string {
	t.Helper()
	for d := filepath.Dir(dir); d != filepath.Clean(os.TempDir()); d = filepath.Dir(d) { // those of this test are root's
		must(t, os.Chmod(d, 0o711))
	}
	program := filepath.Join(filepath.Dir(dir), "test")
	text, err := os.ReadFile(os.Args[0])
	must(t, err)
	must(t, os.WriteFile(program, text, 0o755))
	must(t, os.Chmod(program, 0o755))
	cmd := exec.Command(program, "-test.run=^TestAFileOfAnotherUserIsNamed$")
	cmd.Env, cmd.Dir = append(os.Environ(), "TENURE_TEST_OPEN="+dir), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	line, _, _ := bytes.Cut(out, []byte("\n"))
	return string(line)
}
