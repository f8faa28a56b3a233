package runner

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tenure/multipaxos"
)

// A node that is told to stop while a checkpoint waits for space stops.
func TestStopEndsACheckpointThatWaits(t *testing.T) {
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=64m"); err != nil {
		t.Skip("cannot mount a small file system: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(mount, syscall.MNT_DETACH) })
	dir := filepath.Join(mount, "data")
	store := openStore(t, dir)
	if err := os.Truncate(filepath.Join(dir, "reserve"), 0); err != nil { // there is none
		t.Fatal(err)
	}
	if err := store.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{{Slot: 1, Value: []byte("v")}}}}); err != nil {
		t.Fatal(err)
	}
	filler, err := os.Create(filepath.Join(mount, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer filler.Close()
	for err == nil {
		_, err = filler.Write(make([]byte, 64<<10))
	}
	c := newCheckpointer(store, testDisk(store), newInbox[logEvent](), histogram())
	c.frozen <- frozen(t)
	life, ended := NewLifecycle(store.Interrupt), make(chan error, 1)
	life.Go([]Loop{func(stop <-chan struct{}) error {
		err := c.run(stop)
		ended <- err
		return err
	}})
	select {
	case err := <-ended:
		t.Fatalf("the checkpoint did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	life.End()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the checkpoint goes on waiting")
	}
}
