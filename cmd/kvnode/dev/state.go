package dev

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tenure/internal/quorum"
)

// The files of a cluster's directory.
const (
	stateName   = "dev.json" // what runs
	lockName    = "dev.lock" // held around each change of dev.json, by kvctl too
	sessionName = "dev.pid"  // held by the supervisor while it runs; holds its process id
	binaryName  = "kvnode"
)

const stateVersion = 1

// State is dev.json: the contract with `kvctl dev`.
type State struct {
	Version int    `json:"version"`
	Binary  string `json:"binary"` // absolute path
	Nodes   []Node `json:"nodes"`  // by rising id
}

// Node is one node of the cluster. Its paths are absolute.
type Node struct {
	ID     int      `json:"id"`
	PID    int      `json:"pid"` // 0: not running
	Client string   `json:"client"`
	Peer   string   `json:"peer"`
	Data   string   `json:"data"`
	Log    string   `json:"log"`
	Args   []string `json:"args"` // without the program's name
}

// node is the record with this id, or nil.
func (s *State) node(id int) *Node {
	for i := range s.Nodes {
		if s.Nodes[i].ID == id {
			return &s.Nodes[i]
		}
	}
	return nil
}

// readState is nil without an error if there is no dev.json yet.
func readState(dir string) (*State, error) {
	name := filepath.Join(dir, stateName)
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s State
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w); remove it if no node runs", name, err)
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("%s is of version %d, and this program knows %d; use the program that wrote it", name, s.Version, stateVersion)
	}
	return &s, nil
}

// writeState replaces dev.json in one step. The caller holds dev.lock.
func writeState(dir string, s *State) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	name := filepath.Join(dir, stateName)
	if err := os.WriteFile(name+".tmp", append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// update changes dev.json under its lock. There must be one.
func update(dir string, change func(*State)) error {
	f, err := lock(filepath.Join(dir, lockName), unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := readState(dir)
	if err != nil {
		return err
	}
	if s == nil {
		return fmt.Errorf("%s is gone; was the directory removed?", filepath.Join(dir, stateName))
	}
	change(s)
	return writeState(dir, s)
}

// lock holds the file until it is closed, or this process ends.
func lock(name string, how int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), how)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
	}
}

// openSession makes this process the only supervisor of the directory.
func openSession(dir string) (*os.File, error) {
	name := filepath.Join(dir, sessionName)
	f, err := lock(name, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		pid, _ := os.ReadFile(name)
		return nil, fmt.Errorf("another kvnode dev (pid %s) runs on %s; stop it, or use another --data", bytes.TrimSpace(pid), dir)
	}
	if err != nil {
		return nil, err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteString(fmt.Sprintln(os.Getpid()))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkEarlier refuses to start over what an earlier run has left: nodes that still run, or another number of them.
func checkEarlier(dir string, old *State, nodes int) error {
	if old == nil {
		return checkOrphans(dir, nodes)
	}
	for _, n := range old.Nodes {
		if n.runs(n.PID) {
			return fmt.Errorf("node %d of an earlier run on %s still runs (pid %d); end it with: kill %d", n.ID, dir, n.PID, n.PID)
		}
	}
	if len(old.Nodes) != nodes {
		return refuse("--nodes %d: %s holds a cluster of %d; use --nodes %d or another --data",
			nodes, dir, len(old.Nodes), len(old.Nodes))
	}
	return nil
}

// checkOrphans refuses another number of nodes than the directory has data of, where dev.json is lost: some would be missed, or
// wait for ever for a cluster that was founded without them.
func checkOrphans(dir string, nodes int) error {
	for id := quorum.MaxVoters; id > 0; id-- {
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("node%d", id), "log.db")); err != nil {
			continue
		}
		if id != nodes {
			return refuse("--nodes %d: %s holds data of %d nodes; use --nodes %d or another --data", nodes, dir, id, id)
		}
		return nil
	}
	return nil
}

// tail is the last few lines of a log from an offset on.
func tail(name string, from int64) []string {
	const maxBytes, maxLines = 4096, 6
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	b := make([]byte, min(maxBytes, max(0, info.Size()-from)))
	n, _ := f.ReadAt(b, info.Size()-int64(len(b)))
	lines := strings.Split(strings.TrimSpace(string(b[:n])), "\n")
	if int64(n) < info.Size()-from {
		lines = lines[1:] // cut in its middle
	}
	return lines[max(0, len(lines)-maxLines):]
}
