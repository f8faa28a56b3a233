package pages

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"tenure/internal/faultfs"
)

// A sync that failed clears the dirty marks of pages that it did not write, so a later sync alone does not write them.
// So Settle writes the meta pages once more.
func TestSettleAfterASyncThatFailed(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made.db")
	var stateDBs [2][]byte // after a transaction, and after the next
	for i := range stateDBs {
		db, err := bolt.Open(made, 0o600, nil)
		must(t, err)
		must(t, db.Update(func(tx *bolt.Tx) error {
			_, err := tx.CreateBucketIfNotExists([]byte{byte(i)})
			return err
		}))
		must(t, db.Close())
		stateDBs[i], err = os.ReadFile(made)
		must(t, err)
	}
	fs, dir := mountFaults(t)
	path := filepath.Join(dir, "state.db")
	must(t, os.WriteFile(path, stateDBs[0], 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	must(t, f.Sync())
	d, err := os.Open(dir)
	must(t, err)
	must(t, d.Sync())
	must(t, d.Close())
	_, err = f.WriteAt(stateDBs[1], 0)
	must(t, err)
	fs.SetError(faultfs.Sync, syscall.EIO)
	if f.Sync() == nil {
		t.Fatal("the sync did not fail")
	}
	fs.SetError(faultfs.Sync, 0)
	want, err := readMetas(f)
	must(t, err)
	must(t, Settle(f))
	must(t, f.Close())
	if _, err := fs.Crash(faultfs.Loss{}); err != nil {
		t.Fatal(err)
	}
	f, err = os.Open(path)
	must(t, err)
	defer f.Close()
	got, err := readMetas(f)
	must(t, err)
	for i := range want {
		if got[i].TxID != want[i].TxID {
			t.Errorf("after a loss of power meta page %d is of transaction %d, settled was that of %d", i, got[i].TxID,
				want[i].TxID)
		}
	}
}

// mountFaults mounts a file system that can lose what was not synced.
func mountFaults(t *testing.T) (fs *faultfs.FS, dir string) {
	t.Helper()
	if err := faultfs.Available(); err != nil {
		t.Skip("no FUSE here: ", err)
	}
	dir = t.TempDir()
	fs, err := faultfs.Mount(t.TempDir(), dir)
	must(t, err)
	t.Cleanup(func() { must(t, fs.Unmount()) })
	return fs, dir
}
