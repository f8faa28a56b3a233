package dev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tenure/internal/devcluster"
	"tenure/internal/ownfile"
	"tenure/internal/quorum"
)

// Files of a cluster's directory, beside those of package devcluster.
const (
	sessionName = "dev.pid" // held by the supervisor while it runs; holds its process id
	binaryName  = "kvnode"
)

// readState returns nil without an error if there is no dev.json yet.
func readState(dir string) (*devcluster.State, error) {
	s, err := devcluster.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return s, err
}

// setPID records the process of a node in dev.json in place of was; another one stays. A negative was stands for any.
func setPID(dir string, id, was, pid int) error {
	err := devcluster.SetPID(context.Background(), dir, id, was, pid)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is gone; was the directory removed?", filepath.Join(dir, devcluster.StateName))
	}
	return err
}

// openSession makes this process the only supervisor of the directory, until it ends or closes the file.
func openSession(dir string) (*os.File, error) {
	name := filepath.Join(dir, sessionName)
	f, err := ownfile.Open(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			pid, _ := os.ReadFile(name)
			return nil, fmt.Errorf("another kvnode dev (pid %s) runs on %s; stop it, or use another --data",
				bytes.TrimSpace(pid), dir)
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
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
func checkEarlier(dir string, old *devcluster.State, nodes int) error {
	if old == nil {
		return checkOrphans(dir, nodes)
	}
	for _, n := range old.Nodes {
		if runs(old.Binary, n, n.PID) {
			return fmt.Errorf("node %d of an earlier run on %s still runs (pid %d); end it with: kill %d", n.ID, dir,
				n.PID, n.PID)
		}
	}
	if len(old.Nodes) != nodes {
		return refuse("--nodes %d: %s holds a cluster of %d; use --nodes %d or another --data",
			nodes, dir, len(old.Nodes), len(old.Nodes))
	}
	return nil
}

// checkOrphans refuses another number of nodes than the directory has data of, where dev.json is lost: some would be
// missed, or wait for ever for a cluster that was founded without them.
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
