package server

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tenure/kv"
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
	if err := os.MkdirAll(filepath.Join(dir, "reserve"), 0o700); err != nil { // there is none
		t.Fatal(err)
	}
	n := newNodeOn(t, dir)
	if err := n.store.Commit([]multipaxos.Persist{{Entries: []multipaxos.Entry{{Slot: 1, Value: []byte("v")}}}}); err != nil {
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
	state, err := kv.Open(kv.NewMemStateDB(), kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := state.Apply(1, nil); err != nil {
		t.Fatal(err)
	}
	stop, ended := make(chan struct{}), make(chan error, 1)
	n.checkpointIn <- state.Freeze()
	go func() { ended <- n.runCheckpointer(stop) }()
	select {
	case err := <-ended:
		t.Fatalf("the checkpoint did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	n.endLoops(func() { close(stop) })
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the checkpoint goes on waiting")
	}
}
