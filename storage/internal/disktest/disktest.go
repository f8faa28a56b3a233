// Package disktest has what tests of the parts of storage share.
package disktest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantError checks the kind of an error, what it says, and that it is one line.
func WantError(t testing.TB, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("got %v, want an error of kind %q", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q is more than a line", err)
	}
}

// WantPanic checks that fn panics with words.
func WantPanic(t testing.TB, words string, fn func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), words) {
			t.Errorf("panic %v, want one with %q", r, words)
		}
	}()
	fn()
}

// ReadFile returns the content of the file at path.
func ReadFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	Must(t, err)
	return b
}

// Overwrite puts b into the file at path in place, keeping its inode.
func Overwrite(t testing.TB, path string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	Must(t, err)
	_, err = f.WriteAt(b, 0)
	Must(t, err)
	Must(t, f.Truncate(int64(len(b))))
	Must(t, f.Close())
}

// OverwriteKeeping puts b into the file at path, whose size stays.
func OverwriteKeeping(t testing.TB, path string, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	Must(t, err)
	_, err = f.WriteAt(b, 0)
	Must(t, err)
	Must(t, f.Close())
}
