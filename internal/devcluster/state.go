// Package devcluster is shared by `kvnode dev`, which runs a cluster on one machine, and `kvctl dev`, which works on
// the cluster's nodes. It reads and writes the file that lists the nodes, and reads the ends of their logs.
package devcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tenure/internal/certs"
	"tenure/internal/ownfile"
)

const (
	// DefaultDir is the cluster's directory if none is named.
	DefaultDir = "./kvnode-dev"
	// StateName is the file in it that holds State.
	StateName = "dev.json"
	// StateVersion is the version that this program reads and writes.
	StateVersion = 1

	lockName = "dev.lock" // held around each change of StateName
	lockPoll = 10 * time.Millisecond
)

// State is the content of dev.json.
type State struct {
	Version int    `json:"version"`
	Binary  string `json:"binary"` // absolute path of kvnode
	Nodes   []Node `json:"nodes"`  // by rising id
	// Changed: members have come or gone since kvnode dev has made the cluster. Its nodes are those listed here then, and
	// not those that its flags would make.
	Changed bool `json:"changed,omitempty"`
}

// Node is one node of the cluster. Its paths are absolute.
type Node struct {
	ID     int      `json:"id"`
	PID    int      `json:"pid"` // 0: not running
	Client string   `json:"client"`
	Peer   string   `json:"peer"`
	Data   string   `json:"data"`
	Log    string   `json:"log"`
	Args   []string `json:"args"` // of the program, without its name
	// CA and Cert are the files of the authority and of the node's certificate; "": the cluster speaks no TLS.
	CA   string `json:"ca,omitempty"`
	Cert string `json:"cert,omitempty"`
	// Token is the file with the secret of the cluster's first token; "": the cluster asks for no tokens.
	Token string `json:"token,omitempty"`
	// Redis is where the node listens for clients of Redis; "": nowhere.
	Redis string `json:"redis,omitempty"`
}

// Node returns the node of that id, for changes too, or nil.
func (s *State) Node(id int) *Node {
	for i := range s.Nodes {
		if s.Nodes[i].ID == id {
			return &s.Nodes[i]
		}
	}
	return nil
}

// With returns the node with that data directory, for changes too, or nil. A node that takes its own place after the
// loss of its disk keeps its directory, and gets another id.
func (s *State) With(data string) *Node {
	for i := range s.Nodes {
		if s.Nodes[i].Data == data {
			return &s.Nodes[i]
		}
	}
	return nil
}

// Change adds n, or puts it in the place of the node with its data directory.
func (s *State) Change(n Node) {
	s.Remove(n.Data)
	s.Nodes = append(s.Nodes, n)
	slices.SortFunc(s.Nodes, func(a, b Node) int { return a.ID - b.ID })
}

// Remove removes the node with that data directory.
func (s *State) Remove(data string) {
	s.Nodes = slices.DeleteFunc(s.Nodes, func(n Node) bool { return n.Data == data })
	s.Changed = true
}

// lastOwn ends the arguments that kvnode dev gives to a node by itself; those of its user follow.
var lastOwn = []string{"--log-format", "text"}

// OwnArgs returns a node's arguments: who, its identity ("--id" and "--cluster", or "--join"), then its directory, its
// addresses and what else kvnode dev sets, then the user's arguments, more.
func (n *Node) OwnArgs(who []string, more ...string) []string {
	args := append(slices.Clone(who), "--data", n.Data, "--client", n.Client, "--peer", n.Peer)
	if n.CA != "" {
		args = append(args, "--tls-cert", n.Cert, "--tls-key", certs.KeyOf(n.Cert), "--tls-ca", n.CA)
	}
	if n.Token != "" {
		args = append(args, "--acl")
	}
	if n.Redis != "" {
		args = append(args, "--redis", n.Redis)
	}
	return append(append(args, lastOwn...), more...)
}

// MoreArgs returns the arguments of n that its user gave.
func (n *Node) MoreArgs() []string {
	for i := range n.Args {
		if rest := n.Args[i:]; len(rest) >= len(lastOwn) && slices.Equal(rest[:len(lastOwn)], lastOwn) {
			return rest[len(lastOwn):]
		}
	}
	return nil
}

// IDs lists the nodes' ids for people.
func (s *State) IDs() string {
	var ids []string
	for _, n := range s.Nodes {
		ids = append(ids, fmt.Sprint(n.ID))
	}
	return strings.Join(ids, ", ")
}

// Read reads the State of the cluster in dir. If there is none, the error is an fs.ErrNotExist.
func Read(dir string) (*State, error) {
	name := filepath.Join(dir, StateName)
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent{dir}
	}
	if err != nil {
		return nil, err
	}
	var s State
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w); remove it if no node runs", name, err)
	}
	if s.Version != StateVersion {
		return nil, fmt.Errorf("%s has version %d, and this program knows %d: use its own kvctl and kvnode",
			name, s.Version, StateVersion)
	}
	if len(s.Nodes) == 0 {
		return nil, fmt.Errorf("%s lists no nodes; remove it if none runs", name)
	}
	return &s, nil
}

// absent is the error about a directory without a cluster.
type absent struct{ dir string }

// Error says what to do.
func (e absent) Error() string {
	return fmt.Sprintf("there is no local cluster in %s: start one with kvnode dev, or name its directory with --data",
		e.dir)
}

// Unwrap returns fs.ErrNotExist.
func (absent) Unwrap() error { return fs.ErrNotExist }

// Replace writes s as the State of the cluster in dir, whatever was there. It waits for other programs' changes to end.
func Replace(ctx context.Context, dir string, s *State) error {
	return locked(ctx, dir, func() error { return write(dir, s) })
}

// Update changes the State of the cluster in dir in one step, between those of other programs. If change fails, nothing
// is written.
func Update(ctx context.Context, dir string, change func(*State) error) error {
	return locked(ctx, dir, func() error {
		s, err := Read(dir)
		if err != nil {
			return err
		}
		if err := change(s); err != nil {
			return err
		}
		return write(dir, s)
	})
}

// SetPID records the process of a node in place of was; another one stays. A negative was stands for any.
func SetPID(ctx context.Context, dir string, id, was, pid int) error {
	return Update(ctx, dir, func(s *State) error {
		if n := s.Node(id); n != nil && (was < 0 || n.PID == was) {
			n.PID = pid
		}
		return nil
	})
}

// write replaces the file, whole or not at all. The caller holds the lock.
func write(dir string, s *State) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	name := filepath.Join(dir, StateName)
	f, err := ownfile.Create(name+".tmp", os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// locked runs f while no other program changes the file.
func locked(ctx context.Context, dir string, f func() error) error {
	name := filepath.Join(dir, lockName)
	lock, err := ownfile.Open(name, os.O_RDWR)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // closing gives the lock back
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f()
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("lock %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("lock %s: another program holds it: %w", name, ctx.Err())
		case <-tick.C:
		}
	}
}

// LogTail returns the last few lines of a log from an offset on; none if it cannot be read.
func LogTail(name string, from int64) []string {
	const maxBytes, maxLines = 4096, 6
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	b := make([]byte, min(maxBytes, max(0, info.Size()-from)))
	n, _ := f.ReadAt(b, info.Size()-int64(len(b)))
	text := strings.TrimSpace(string(b[:n]))
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	if int64(n) < info.Size()-from {
		lines = lines[1:] // cut in its middle
	}
	return lines[max(0, len(lines)-maxLines):]
}
