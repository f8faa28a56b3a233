//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The files that `kvnode dev` and `kvctl dev` share.
const (
	devStateName    = "dev.json"
	devLockName     = "dev.lock" // held around each change of dev.json
	devStateVersion = 1
	devLockPoll     = 10 * time.Millisecond
)

// devState is dev.json, which `kvnode dev` writes.
type devState struct {
	Version int       `json:"version"`
	Binary  string    `json:"binary"` // absolute path of kvnode
	Nodes   []devNode `json:"nodes"`
}

// devNode is one node; its paths are absolute.
type devNode struct {
	ID     int      `json:"id"`
	PID    int      `json:"pid"` // 0: not running
	Client string   `json:"client"`
	Peer   string   `json:"peer"`
	Data   string   `json:"data"`
	Log    string   `json:"log"`
	Args   []string `json:"args"` // start the node exactly so
}

// node is the record with this id, or nil.
func (s *devState) node(id int) *devNode {
	for i := range s.Nodes {
		if s.Nodes[i].ID == id {
			return &s.Nodes[i]
		}
	}
	return nil
}

func (s *devState) ids() string {
	var ids []string
	for _, n := range s.Nodes {
		ids = append(ids, fmt.Sprint(n.ID))
	}
	return strings.Join(ids, ", ")
}

func readDevState(dir string) (*devState, error) {
	name := filepath.Join(dir, devStateName)
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no local cluster in %s: start one with kvnode dev, or name its directory with --data", dir)
	}
	if err != nil {
		return nil, err
	}
	var s devState
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%s is damaged (%w)", name, err)
	}
	if s.Version != devStateVersion {
		return nil, fmt.Errorf("%s is of version %d, and this program knows %d: use the kvctl that came with kvnode", name, s.Version, devStateVersion)
	}
	if len(s.Nodes) == 0 {
		return nil, fmt.Errorf("%s lists no nodes", name)
	}
	return &s, nil
}

// updateDevState changes dev.json in one step, under its lock. If change fails, nothing is written.
func updateDevState(ctx context.Context, dir string, change func(*devState) error) error {
	lock, err := lockDev(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // closing gives the lock back
	s, err := readDevState(dir)
	if err != nil {
		return err
	}
	if err := change(s); err != nil {
		return err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	name := filepath.Join(dir, devStateName)
	if err := os.WriteFile(name+".tmp", append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name)
}

// lockDev holds the lock until the file is closed.
func lockDev(ctx context.Context, dir string) (*os.File, error) {
	name := filepath.Join(dir, devLockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(devLockPoll)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: another program holds it: %w", name, ctx.Err())
		case <-tick.C:
		}
	}
}
