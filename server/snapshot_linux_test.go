package server

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tenure/api"
)

// A node whose disk cannot take the state beside its own says so, and goes on as it is.
func TestANodeWithoutSpaceForASnapshotSaysSo(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256m"); err != nil {
		t.Skip("cannot mount a tmpfs: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	h, _, _ := behind(t, 3)
	moved := filepath.Join(disk, "data")
	if err := os.CopyFS(moved, os.DirFS(h.cfg.Data)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(moved, "accept-copy"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(moved, "reserve"), 0); err != nil {
		t.Fatal(err)
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(disk, &st); err != nil {
		t.Fatal(err)
	}
	const reserve, left = 256 << 20 / 8, 6 << 20 // the state has 10 MB
	others := make([]byte, int64(st.Bavail)*st.Bsize-reserve-left)
	if err := os.WriteFile(filepath.Join(disk, "others"), others, 0o600); err != nil {
		t.Fatal(err)
	}
	h.cfg.Data = moved
	h.start(t)
	defer h.stop(t) // before the disk goes
	h.awaitStatus(t, func(s api.Status) bool {
		return strings.Contains(s.Problem, "no space for a snapshot") && s.Snapshot == nil
	})
	if names, _ := filepath.Glob(filepath.Join(moved, "state.db.receiv*")); len(names) > 0 {
		t.Errorf("%v is left", names)
	}
}
