//go:build linux

package faultfs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func mounted(t *testing.T) (*FS, string) {
	t.Helper()
	if err := Available(); err != nil {
		t.Skip("no FUSE here: ", err)
	}
	mount := t.TempDir()
	f, err := Mount(t.TempDir(), mount)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return f, mount
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

// write opens, writes, maybe syncs, and closes.
func write(t *testing.T, path, text string, sync bool) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	_, err = f.WriteAt([]byte(text), 0)
	must(t, err)
	if sync {
		must(t, f.Sync())
	}
	must(t, f.Close())
}

func syncDir(t *testing.T, dir string) {
	t.Helper()
	d, err := os.Open(dir)
	must(t, err)
	defer d.Close()
	must(t, d.Sync())
}

func TestCrashDropsWhatWasNotSynced(t *testing.T) {
	f, dir := mounted(t)
	path := filepath.Join(dir, "a")
	write(t, path, "synced", true)
	syncDir(t, dir)
	write(t, path, "unsync and longer", false)
	if b, err := os.ReadFile(path); err != nil || string(b) != "unsync and longer" {
		t.Fatalf("%q %v", b, err)
	}
	lost, err := f.Crash(Loss{})
	must(t, err)
	if b, err := os.ReadFile(path); err != nil || string(b) != "synced" || lost != 1 {
		t.Fatalf("after the crash %q %v, %d pages lost", b, err, lost)
	}
}

func TestCrashDropsNamesAndRenamesOfUnsyncedDirectories(t *testing.T) {
	f, dir := mounted(t)
	write(t, filepath.Join(dir, "kept"), "1", true)
	syncDir(t, dir)
	must(t, os.Rename(filepath.Join(dir, "kept"), filepath.Join(dir, "moved")))
	write(t, filepath.Join(dir, "fresh"), "2", true)
	_, err := f.Crash(Loss{})
	must(t, err)
	if b, err := os.ReadFile(filepath.Join(dir, "kept")); err != nil || string(b) != "1" {
		t.Errorf("the rename survived: %q %v", b, err)
	}
	_, err = os.Stat(filepath.Join(dir, "fresh"))
	wantError(t, err, os.ErrNotExist)

	must(t, os.Rename(filepath.Join(dir, "kept"), filepath.Join(dir, "moved")))
	syncDir(t, dir)
	_, err = f.Crash(Loss{})
	must(t, err)
	_, err = os.Stat(filepath.Join(dir, "moved"))
	must(t, err)
}

func TestErrorsHaltAndLies(t *testing.T) {
	f, dir := mounted(t)
	path := filepath.Join(dir, "a")
	write(t, path, "old", true)
	syncDir(t, dir)
	x, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer x.Close()

	f.SetError(Write, syscall.ENOSPC)
	_, err = x.WriteAt([]byte("new"), 0)
	wantError(t, err, syscall.ENOSPC)
	f.SetError(Write, 0)
	f.FailAfter(Sync, 1, syscall.EIO)
	must(t, x.Sync())
	wantError(t, x.Sync(), syscall.EIO)
	f.SetError(Sync, 0)

	halted := f.Halt(1)
	_, err = x.WriteAt([]byte("new"), 0)
	must(t, err)
	<-halted
	wantError(t, x.Sync(), syscall.EIO)
	_, err = f.Crash(Loss{})
	must(t, err)
	if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
		t.Errorf("%q %v", b, err)
	}

	f.LieAboutSync(true)
	write(t, path, "new", true)
	_, err = f.Crash(Loss{})
	must(t, err)
	if b, err := os.ReadFile(path); err != nil || string(b) != "old" {
		t.Errorf("after a sync that lied: %q %v", b, err)
	}
	if c := f.Counts(); c.Failed[Write] != 1 || c.Failed[Sync] != 2 || c.Lost != 2 {
		t.Errorf("%+v", c)
	}
}

func TestStallHoldsUpAndResumeEndsIt(t *testing.T) {
	f, dir := mounted(t)
	path := filepath.Join(dir, "a")
	write(t, path, "1", true)
	f.Stall(time.Hour)
	done := make(chan error, 1)
	go func() {
		x, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			_, err = x.WriteAt([]byte("2"), 0)
			err = errors.Join(err, x.Sync(), x.Close())
		}
		done <- err
	}()
	for f.Counts().Waited == 0 {
		select {
		case err := <-done:
			t.Fatal("the stall did not hold: ", err)
		default:
			time.Sleep(time.Millisecond)
		}
	}
	f.Resume()
	must(t, <-done)
}

func TestFlipBitsAndFree(t *testing.T) {
	f, dir := mounted(t)
	path := filepath.Join(dir, "a")
	write(t, path, "aaa", true)
	must(t, f.FlipBits("a", 1, 1))
	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, []byte("a`a")) {
		t.Errorf("%q %v", b, err)
	}
	f.SetFree(8 << 20)
	var st syscall.Statfs_t
	must(t, syscall.Statfs(dir, &st))
	if got := int64(st.Bavail) * st.Bsize; got != 8<<20 {
		t.Errorf("%d bytes free", got)
	}
}

func TestTreeOperations(t *testing.T) {
	_, dir := mounted(t)
	sub := filepath.Join(dir, "sub")
	must(t, os.Mkdir(sub, 0o700))
	write(t, filepath.Join(sub, "a"), "abc", false)
	must(t, os.Truncate(filepath.Join(sub, "a"), 2))
	must(t, os.Rename(filepath.Join(sub, "a"), filepath.Join(dir, "b")))
	must(t, os.Chmod(filepath.Join(dir, "b"), 0o640))
	info, err := os.Stat(filepath.Join(dir, "b"))
	must(t, err)
	if info.Size() != 2 || info.Mode().Perm() != 0o640 {
		t.Errorf("%v", info)
	}
	must(t, os.Remove(sub))
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 1 || entries[0].Name() != "b" {
		t.Errorf("%v", entries)
	}
	must(t, os.Remove(filepath.Join(dir, "b")))
	write(t, filepath.Join(dir, "b"), "again", true)
	if b, err := os.ReadFile(filepath.Join(dir, "b")); err != nil || string(b) != "again" {
		t.Errorf("%q %v", b, err)
	}
}

// As on Linux, a second sync does not write what the first one failed to, and does not say so.
func TestASyncThatFailedGivesThePagesUp(t *testing.T) {
	f, dir := mounted(t)
	path := filepath.Join(dir, "a")
	write(t, path, "old", true)
	syncDir(t, dir)
	read := func() string {
		b, err := os.ReadFile(path)
		must(t, err)
		return string(b)
	}
	for _, again := range []bool{false, true} {
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		must(t, err)
		_, err = file.WriteAt([]byte("new"), 0)
		must(t, err)
		f.SetError(Sync, syscall.EIO)
		wantError(t, file.Sync(), syscall.EIO)
		f.SetError(Sync, 0)
		want := "old"
		if again { // what is written again is synced again
			_, err = file.WriteAt([]byte("new"), 0)
			must(t, err)
			want = "new"
		}
		must(t, file.Sync())
		must(t, file.Close())
		if got := read(); got != "new" {
			t.Errorf("written again %v: %q is read before the crash", again, got)
		}
		_, err = f.Crash(Loss{})
		must(t, err)
		if got := read(); got != want {
			t.Errorf("written again %v: %q is read after the crash, want %q", again, got, want)
		}
	}
}
