package dev

import (
	"os"
	"path/filepath"
	"testing"

	"tenure/internal/devcluster"
)

// TestFilesAreNotFollowed: links in the directory of `kvnode dev` under the names of its files are not written through.
func TestFilesAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(name string) error{
		sessionName:         func(string) error { _, err := openSession(dir); return err },
		binaryName + ".tmp": func(string) error { _, err := copyBinary(victim+"2", dir); return err },
		"node1.log": func(name string) error {
			_, err := start("/bin/true", devcluster.Node{ID: 1, Log: name}, make(chan exit, 1))
			return err
		},
	} {
		path := filepath.Join(dir, name)
		if err := os.Symlink(victim, path); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(victim+"2", []byte("a program"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := write(path); err == nil {
			t.Errorf("%s: a link is taken for it", name)
		}
		if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
			t.Errorf("%s: the file behind it has %q, %v", name, b, err)
		}
	}
}
