package show

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tenure/internal/faultfs"
	"tenure/jepsen/cluster"
)

// diskError is a way in which a disk fails from one moment on.
type diskError struct {
	name string
	ops  []faultfs.Op
	is   syscall.Errno
	met  func(ctx context.Context, n *cluster.Node) // makes the node meet it, if the load does not
}

var diskErrors = []diskError{
	{"every write fails (EIO)", []faultfs.Op{faultfs.Write}, syscall.EIO, nil},
	{"every sync fails (EIO)", []faultfs.Op{faultfs.Sync}, syscall.EIO, nil},
	{"the file system is read-only (EROFS)", []faultfs.Op{faultfs.Write, faultfs.Sync, faultfs.Create, faultfs.Truncate,
		faultfs.Rename, faultfs.Remove}, syscall.EROFS, nil},
	{"every read fails (EIO)", []faultfs.Op{faultfs.Read}, syscall.EIO, reads},
}

// diskFails has a node's disk fail in each way under load. The node ends and names the file; while the disk fails it
// does not start, and says so. The others go on. With a disk that works the node is back.
func diskFails(ctx context.Context, s *stage) error {
	if err := faultfs.Available(); err != nil {
		s.say("left out: %v", err)
		return nil
	}
	disks, dataDir, unmount, err := cluster.FaultyDisks(s.dir, 3)
	if err != nil {
		return err
	}
	defer func() { _ = unmount() }() // what cannot be unmounted fails nothing
	c, all, done, err := started(ctx, cluster.Config{Binaries: s.bin, Dir: s.dir, Nodes: 3, DataDir: dataDir,
		Flags: []string{shortLeases}})
	if err != nil {
		return err
	}
	defer done()
	l := writeLedger(ctx, c)
	defer l.stop()
	cluster.Pause(ctx, time.Second)
	for i, e := range diskErrors {
		n := c.Node(i%3 + 1)
		if err := fails(ctx, s, c, n, disks[n.ID-1], e); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	if err := l.check(ctx, s, all); err != nil {
		return err
	}
	return same(ctx, c, "ledger/")
}

func fails(ctx context.Context, s *stage, c *cluster.Cluster, n *cluster.Node, disk *faultfs.FS, e diskError) error {
	set := func(is syscall.Errno) {
		for _, op := range e.ops {
			disk.SetError(op, is)
		}
	}
	defer set(0)
	from := n.LogSize()
	set(e.is)
	if e.met != nil {
		e.met(ctx, n)
	}
	said, err := endsNaming(n, from)
	if err != nil {
		return fmt.Errorf("while it ran: %w", err)
	}
	s.say("%s: node %d: %.200s", e.name, n.ID, said)
	from = n.LogSize()
	if err := n.Start(); err != nil {
		return err
	}
	if said, err = endsNaming(n, from); err != nil {
		return fmt.Errorf("started on such a disk: %w", err)
	}
	s.say("started on it: %.200s", said)
	set(0)
	if err := n.Start(); err != nil {
		return err
	}
	return c.WaitReady(ctx, n)
}

// endsNaming waits for the end of a node and returns its last words, which must name something in its data directory.
func endsNaming(n *cluster.Node, from int64) (string, error) {
	if err := n.Wait(20 * time.Second); err == nil || n.Running() {
		return "", errors.Join(fmt.Errorf("node %d did not end with an error", n.ID), err)
	}
	last := cluster.LastWords(n.LogFrom(from))
	if !strings.Contains(last, n.Data) {
		return "", fmt.Errorf("node %d does not say which file: %s", n.ID, last)
	}
	return last, nil
}

// reads empties the page cache, as far as the machine lets it, and asks the node for what lies in its files.
func reads(ctx context.Context, n *cluster.Node) {
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end) &&
		n.Running(); cluster.Pause(ctx, 50*time.Millisecond) {
		forget(filepath.Join(n.Data, "state.db"))
		// An error is the end of the node, or no answer of it.
		_, _, _, _ = ask(ctx, http.MethodGet, "http://"+n.Client+"/v1/kv/?keys&stale", nil)
	}
}

// forget drops what the page cache has of a file.
func forget(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	dropCache(f)
}
