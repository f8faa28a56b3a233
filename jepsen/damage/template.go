package damage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tenure/jepsen/cluster"
)

const (
	journalName  = "journal"
	reserveName  = "reserve"
	receivedName = "state.db.received"

	largeKeys  = 150
	largeBytes = 60 << 10 // all large values together are more than one checkpoint under quota
	smallKeys  = 500
	goneKeys   = 40 // written and deleted
	lateKeys   = 60 // written last: in the log, and partly in the journal, but not in the state database
	quota      = "512MiB"
)

// template has the files of a killed node, and what a node must answer from them.
type template struct {
	node  *cluster.Node
	files map[string][]byte // contents, except that of the reserve, which nobody reads
	sizes map[string]int64
	want  map[string]string // values; "" for a deleted key
	alone bool              // the node is its own master and can be written to
	// applied is the slot that a node without a master must reach before it is asked. 0: it is asked when it is ready.
	applied uint64
}

// nodeFlags are the flags of every node. Leases are short, since each start waits until the last one has expired.
var nodeFlags = []string{"--lease-time", "100ms", "--max-lease-time", "200ms", "--guardian=false",
	"--quota-bytes", quota, "--session-ttl-min", "10s"}

// makeAlone fills a cluster of one node and kills the node.
func makeAlone(ctx context.Context, bin cluster.Binaries, dir string) (*template, error) {
	c, err := cluster.New(cluster.Config{Binaries: bin, Dir: dir, Nodes: 1, Flags: nodeFlags})
	if err != nil {
		return nil, err
	}
	t := &template{node: c.Node(1), want: map[string]string{}, alone: true}
	if err := t.fill(ctx, c); err != nil {
		c.Stop(time.Second)
		return nil, err
	}
	if err := t.node.Kill(); err != nil {
		return nil, err
	}
	return t, t.keep()
}

// fill writes keys until some are in the state database, some in log.db and some in the journal alone.
func (t *template) fill(ctx context.Context, c *cluster.Cluster) error {
	started, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := c.Start(started); err != nil {
		return err
	}
	w := newClient(t.node)
	set := func(key, value string) error { t.want[key] = value; return w.fill(ctx, key, value) }
	var errs []error
	for i := range smallKeys {
		errs = append(errs, set(fmt.Sprintf("small/%04d", i), fmt.Sprintf("old %d", i)))
	}
	for i := range largeKeys {
		errs = append(errs, set(fmt.Sprintf("large/%04d", i), text(i, largeBytes)))
	}
	for i := 0; i < smallKeys; i += 3 { // new versions, so that the state database has free pages
		errs = append(errs, set(fmt.Sprintf("small/%04d", i), text(i, 300)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := checkpointed(ctx, t.node); err != nil {
		return err
	}
	for i := range goneKeys {
		key := fmt.Sprintf("small/%04d", i*7)
		t.want[key] = ""
		errs = append(errs, w.remove(ctx, key))
	}
	for i := range lateKeys {
		errs = append(errs, set(fmt.Sprintf("late/%04d", i), text(i, 700)))
	}
	return errors.Join(errs...)
}

// checkpointed waits until most of what was written is in the node's state database.
func checkpointed(ctx context.Context, n *cluster.Node) error {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); cluster.Pause(ctx, 50*time.Millisecond) {
		info, err := os.Stat(filepath.Join(n.Data, "state.db"))
		if err == nil && info.Size() > largeKeys*largeBytes/2 {
			cluster.Pause(ctx, time.Second) // lets a running checkpoint end
			return ctx.Err()
		}
	}
	return fmt.Errorf("%s was not checkpointed", n.Data)
}

// keep reads the files of the stopped node into the template.
func (t *template) keep() error {
	t.files, t.sizes = map[string][]byte{}, map[string]int64{}
	entries, err := os.ReadDir(t.node.Data)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		t.sizes[e.Name()] = info.Size()
		if e.Name() == reserveName {
			continue
		}
		if t.files[e.Name()], err = os.ReadFile(filepath.Join(t.node.Data, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// content returns what a file of the template holds.
func (t *template) content(name string) []byte {
	if b, ok := t.files[name]; ok {
		return b
	}
	return make([]byte, t.sizes[name])
}

// restore restores the directory in place: a node would refuse a copy of its files.
func (t *template) restore() error {
	entries, err := os.ReadDir(t.node.Data)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, ok := t.sizes[e.Name()]; !ok {
			if err := os.RemoveAll(filepath.Join(t.node.Data, e.Name())); err != nil {
				return err
			}
		}
	}
	for name, size := range t.sizes {
		if err := t.restoreFile(filepath.Join(t.node.Data, name), size, t.files[name]); err != nil {
			return err
		}
	}
	return nil
}

// restoreFile writes the pages that differ.
func (t *template) restoreFile(path string, size int64, want []byte) error {
	is, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if want == nil { // the reserve: zeros, which nobody reads
		return f.Truncate(size)
	}
	if int64(len(is)) != size {
		if err := f.Truncate(size); err != nil {
			return err
		}
	}
	for off := 0; off < len(want); off += pageBytes {
		end := min(off+pageBytes, len(want))
		if end <= len(is) && bytes.Equal(is[off:end], want[off:end]) {
			continue
		}
		if _, err := f.WriteAt(want[off:end], int64(off)); err != nil {
			return err
		}
	}
	return nil
}

// text returns a recognizable value of size bytes.
func text(i, size int) string {
	head := fmt.Sprintf("value %d of %d bytes ", i, size)
	return head + strings.Repeat(string(rune('a'+i%26)), size-len(head))
}
