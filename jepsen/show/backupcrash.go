package show

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

const (
	backupKills = 40 // of each command
	leastCut    = 5  // kills that must have come before the command's end, and results that must have been whole
)

// backupCrash kills kvctl backup create and kvnode restore at any step. What they leave counts whole or not at all, and
// the same command does its work afterwards.
func backupCrash(ctx context.Context, s *stage) error {
	kvctl, err := cluster.BuildKvctl(ctx, filepath.Join(s.dir, "bin"))
	if err != nil {
		return err
	}
	c, all, done, err := s.clusterAndClient(ctx, shortLeases)
	if err != nil {
		return err
	}
	defer done()
	if err := overwrite(ctx, all, crashState); err != nil {
		return err
	}
	file := filepath.Join(s.dir, "backup")
	create := []string{kvctl, "--endpoints", c.Node(1).Client, "backup", "create", "--force", file}
	if err := s.killed(ctx, "kvctl backup create", create, func() (bool, error) {
		return s.backupIsWhole(ctx, kvctl, file)
	}); err != nil {
		return err
	}
	data := filepath.Join(s.dir, "restored")
	restore := []string{s.bin.Kvnode, "restore", file, "--data", data}
	return s.killed(ctx, "kvnode restore", restore, func() (bool, error) { return s.restoreIsWhole(ctx, data) })
}

// killed runs a command many times, and kills it after a random time: sometimes it is done by then. left reports each
// time whether the result is whole; a result that is neither whole nor absent is an error.
func (s *stage) killed(ctx context.Context, name string, command []string, left func() (bool, error)) error {
	cut, wholes, longest := 0, 0, 100*time.Millisecond
	for range backupKills {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		if err := cmd.Start(); err != nil {
			return err
		}
		cluster.Pause(ctx, time.Duration(rand.Int64N(int64(longest))))
		_ = cmd.Process.Kill()
		var exit *exec.ExitError
		switch err := cmd.Wait(); {
		case errors.As(err, &exit) && !exit.Exited():
			cut++
			longest = longest * 6 / 5
		case err != nil:
			return fmt.Errorf("%s after a kill: %w", name, err)
		default:
			longest = longest * 3 / 4
		}
		whole, err := left()
		if err != nil {
			return err
		}
		if whole {
			wholes++
		}
	}
	if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s after all kills: %w: %s", name, err, out)
	}
	s.say("%s: killed %d times of %d; %d times the result was there, and whole", name, cut, backupKills, wholes)
	if cut < leastCut || wholes < leastCut {
		return fmt.Errorf("%d kills before the end and %d whole results show nothing", cut, wholes)
	}
	return nil
}

// backupIsWhole reports whether there is a backup under that name, which it verifies and removes.
func (s *stage) backupIsWhole(ctx context.Context, kvctl, file string) (bool, error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	out, err := exec.CommandContext(ctx, kvctl, "backup", "verify", file).CombinedOutput()
	if err != nil {
		return false, fmt.Errorf("kvctl backup verify: %w: %s", err, out)
	}
	return true, os.Remove(file)
}

// restoreIsWhole reports whether data is the data directory of a node, and starts a node on it. It removes that
// directory, and also one that kvnode restore refuses to take a second time.
func (s *stage) restoreIsWhole(ctx context.Context, data string) (bool, error) {
	files, err := os.ReadDir(data)
	if err != nil || len(files) == 0 {
		return false, nil
	}
	if _, err := os.Stat(filepath.Join(data, "log.db")); err == nil {
		return true, errors.Join(s.serves(ctx, data), os.RemoveAll(data))
	}
	if len(files) == 1 { // what is not finished: the next restore goes on from there
		return false, nil
	}
	return false, os.RemoveAll(data) // between the names of two files: kvnode restore says that it is to be removed
}

// serves starts a node on data, which must have all keys.
func (s *stage) serves(ctx context.Context, data string) error {
	c, err := cluster.New(cluster.Config{Binaries: s.bin, Dir: filepath.Join(s.dir, "of-restore"), Nodes: 1})
	if err != nil {
		return err
	}
	c.Settle(c.Node(1), data)
	if err := start(ctx, c); err != nil {
		return err
	}
	defer c.Stop(time.Second)
	one, err := connect(c, 10*time.Second)
	if err != nil {
		return err
	}
	defer one.Close()
	n, _, err := one.Count(ctx, "fill/", client.ReadOptions{})
	if err == nil && n != fillKeys {
		err = fmt.Errorf("a restore that was killed has %d of %d keys", n, fillKeys)
	}
	return err
}
