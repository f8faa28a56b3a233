package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"tenure/internal/faultfs"
)

// FaultyDisks mounts a file system with faults for each of n nodes: what node I sees at dir/mountI is kept in
// dir/diskI. close unmounts them, after the nodes have ended.
func FaultyDisks(dir string, n int) (disks []*faultfs.FS, data func(id int) string, close func() error, err error) {
	close = func() error {
		var failed error
		for _, d := range disks {
			d.Resume()
			failed = errors.Join(failed, again(d.Unmount))
		}
		return failed
	}
	for id := 1; id <= n; id++ {
		disk, mount := filepath.Join(dir, fmt.Sprintf("disk%d", id)), filepath.Join(dir, fmt.Sprintf("mount%d", id))
		if err := errors.Join(os.MkdirAll(disk, 0o755), os.MkdirAll(mount, 0o755)); err != nil {
			return nil, nil, nil, errors.Join(err, close())
		}
		fs, err := faultfs.Mount(disk, mount)
		if err != nil {
			return nil, nil, nil, errors.Join(err, close())
		}
		disks = append(disks, fs)
	}
	return disks, func(id int) string { return filepath.Join(dir, fmt.Sprintf("mount%d", id), "data") }, close, nil
}

// SmallDisks are file systems of a fixed size, one a node, in files mounted as loop devices.
type SmallDisks struct {
	dir    string
	mounts []string
}

// SmallDisksAvailable returns an error that tells why SmallDisks do not work on this machine, or nil.
func SmallDisksAvailable() error {
	if os.Geteuid() != 0 {
		return errors.New("small file systems need root")
	}
	for _, tool := range []string{"mkfs.ext4", "mount", "umount"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("small file systems need %s: %w", tool, err)
		}
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		return fmt.Errorf("small file systems need loop devices: %w", err)
	}
	return nil
}

// NewSmallDisks makes and mounts n file systems of that size.
func NewSmallDisks(dir string, n int, bytes int64) (*SmallDisks, error) {
	if err := SmallDisksAvailable(); err != nil {
		return nil, err
	}
	s := &SmallDisks{dir: dir}
	for id := 1; id <= n; id++ {
		if err := s.mount(id, bytes); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *SmallDisks) mount(id int, bytes int64) error {
	stateDB, mount := filepath.Join(s.dir, fmt.Sprintf("disk%d.img", id)), s.path(id)
	if err := os.MkdirAll(mount, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(stateDB, nil, 0o644); err != nil {
		return err
	}
	if err := os.Truncate(stateDB, bytes); err != nil {
		return err
	}
	if err := command("mkfs.ext4", "-q", "-m", "0", stateDB); err != nil {
		return err
	}
	if err := command("mount", "-o", "loop", stateDB, mount); err != nil {
		return err
	}
	s.mounts = append(s.mounts, mount)
	return nil
}

func (s *SmallDisks) path(id int) string { return filepath.Join(s.dir, fmt.Sprintf("mount%d", id)) }

// DataDir is for Config.DataDir.
func (s *SmallDisks) DataDir(id int) string { return filepath.Join(s.path(id), "data") }

// Fill takes the free space of node id's file system except about leave bytes; with 0, all of it. Free gives it back.
func (s *SmallDisks) Fill(id int, leave int64) error {
	f, err := os.Create(s.ballast(id))
	if err != nil {
		return err
	}
	defer f.Close()
	// The file system takes some of the space for its own records, and the node goes on writing.
	size := int64(0)
	for step := int64(64 << 20); step >= 4<<10; {
		free, err := freeBytes(s.path(id))
		if err != nil {
			return err
		}
		if free < leave+step || unix.Fallocate(int(f.Fd()), 0, size, step) != nil {
			step /= 2
			continue
		}
		size += step
	}
	return nil
}

// Free takes the ballast away.
func (s *SmallDisks) Free(id int) error {
	if err := os.Remove(s.ballast(id)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (s *SmallDisks) ballast(id int) string { return filepath.Join(s.path(id), "ballast") }

// Close unmounts them.
func (s *SmallDisks) Close() error {
	var failed error
	for i, m := range s.mounts {
		failed = errors.Join(failed, s.Thaw(i+1)) // else its umount would freeze too
		failed = errors.Join(failed, again(func() error { return command("umount", m) }))
	}
	return failed
}

// again repeats f for up to a second: a process that was killed may hold a file a moment longer.
func again(f func() error) error {
	err := f()
	for range 20 {
		if err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
		err = f()
	}
	return err
}

func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
