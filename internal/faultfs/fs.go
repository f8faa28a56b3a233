//go:build linux

package faultfs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// FS is a mounted file system.
type FS struct {
	disk   string // the directory that stands for the disk
	mount  string
	server *fuse.Server
	faults *faults

	mu      sync.Mutex
	files   map[uint64]*file // by the disk's inode
	next    uint64           // generation of inodes, since the disk uses their numbers again
	created []string         // names on the disk whose directory was not synced since
	renamed []rename         // renames likewise, that replaced nothing
}

type file struct {
	*content
	generation uint64
}

type rename struct{ from, to string }

// Available returns nil where Mount can work: on Linux with /dev/fuse, as root.
func Available() error {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// Mount serves the directory disk at the directory mount. The caller ends it with Unmount.
func Mount(disk, mount string) (*FS, error) {
	f := &FS{disk: disk, mount: mount, faults: newFaults(), files: map[uint64]*file{}}
	none := time.Duration(0)
	options := &fs.Options{EntryTimeout: &none, AttrTimeout: &none, NegativeTimeout: &none}
	options.MountOptions = fuse.MountOptions{
		DirectMount: true, FsName: "faultfs", Name: "faultfs", DisableXAttrs: true, AllowOther: os.Getuid() == 0,
		// Without it the kernel drops the page cache of a file at each fstat after a write, and the next look through
		// mmap waits for a read: no disk does that, and a stall would hit programs where a disk's would not.
		ExplicitDataCacheControl: true,
	}
	server, err := fs.Mount(mount, &node{fs: f}, options)
	if err != nil {
		return nil, fmt.Errorf("mount a file system on %s: %w", mount, err)
	}
	f.server = server
	return f, nil
}

// Unmount ends the file system; what was not synced is lost. Programs that still have files open get errors.
func (f *FS) Unmount() error {
	f.Resume()
	err := f.server.Unmount()
	if err != nil {
		err = syscall.Unmount(f.mount, syscall.MNT_DETACH)
	}
	if err == nil {
		f.server.Wait()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.files {
		x.disk.Close()
	}
	f.files = nil
	return err
}

// Crash drops what was not synced, as a loss of power would, and ends a halt. The programs that had files open must
// have ended: they would read what is gone from the kernel's cache. It returns how many unsynced pages were lost.
func (f *FS) Crash(loss Loss) (lost int, err error) {
	r := rand.New(rand.NewPCG(loss.Seed, 0))
	f.mu.Lock()
	defer f.mu.Unlock()
	inodes := make([]uint64, 0, len(f.files))
	for i := range f.files {
		inodes = append(inodes, i)
	}
	slices.Sort(inodes)
	var errs []error
	for _, i := range inodes {
		n, err := f.files[i].crash(loss, r)
		lost += n
		errs = append(errs, err)
	}
	for i := len(f.renamed) - 1; i >= 0; i-- {
		errs = append(errs, ignoreMissing(os.Rename(f.renamed[i].to, f.renamed[i].from)))
	}
	for _, path := range f.created {
		errs = append(errs, ignoreMissing(os.RemoveAll(path)))
	}
	f.created, f.renamed = nil, nil
	f.faults.reset(lost)
	return lost, errors.Join(errs...)
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// FlipBits inverts the bits of mask in one byte of a file, named by its path below the mount. A program that has the
// file open may go on seeing the old byte.
func (f *FS) FlipBits(path string, off int64, mask byte) error {
	full := filepath.Join(f.disk, path)
	var st syscall.Stat_t
	if err := syscall.Lstat(full, &st); err != nil {
		return &os.PathError{Op: "stat", Path: full, Err: err}
	}
	x, err := f.file(full, st.Ino)
	if err != nil {
		return err
	}
	return x.flip(off, mask)
}

// file returns the content of a file on the disk, opened once.
func (f *FS) file(path string, inode uint64) (*file, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x := f.files[inode]; x != nil {
		return x, nil
	}
	d, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	c, err := newContent(d)
	if err != nil {
		d.Close()
		return nil, err
	}
	f.next++
	x := &file{content: c, generation: f.next}
	f.files[inode] = x
	return x, nil
}

// gone forgets a removed file once no name is left.
func (f *FS) gone(path string) {
	var st syscall.Stat_t
	if syscall.Lstat(path, &st) != nil || st.Nlink > 1 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.files, st.Ino) // programs that have it open keep the content itself
}

// named notes a new name; move a new place of one; settled that a directory was synced.
func (f *FS) named(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.created = append(f.created, path)
}

func (f *FS) moved(from, to string, replaced bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fresh := slices.Contains(f.created, from)
	f.created = slices.DeleteFunc(f.created, func(p string) bool { return p == from || p == to })
	switch {
	case fresh && !replaced:
		f.created = append(f.created, to)
	case !fresh && !replaced:
		f.renamed = append(f.renamed, rename{from, to})
	}
}

func (f *FS) settled(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.created = slices.DeleteFunc(f.created, func(p string) bool { return filepath.Dir(p) == dir })
	f.renamed = slices.DeleteFunc(f.renamed, func(r rename) bool { return filepath.Dir(r.to) == dir })
}
