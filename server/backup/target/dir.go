package target

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tenure/internal/lostfound"
)

const (
	// The names of temporary files are not names of objects.
	temporaryPrefix = ".tenure-"
	temporarySuffix = ".partial"
	// temporaryOld is the age after its last write at which a temporary file is removed: its process has died.
	temporaryOld = 24 * time.Hour
	// sweepEvery is the time between two searches for such files.
	sweepEvery = time.Hour
)

// dir is a Target in a directory. An object is a file; the elements of its name before the last are directories.
//
// Put writes a temporary file in the directory of the object, syncs it, renames it, and syncs the directory. The
// directory of the target is never created: if its disk is not mounted, Put fails instead of filling another disk.
type dir struct {
	root string // absolute

	mu      sync.Mutex
	durable string    // the directory of the newest Put, in the root; its name is durable
	swept   time.Time // the last search for old temporary files
}

func newDir(path string) (Target, error) {
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	return &dir{root: root}, nil
}

func (d *dir) String() string { return d.root }

func (d *dir) Close() error { return nil }

func (d *dir) path(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

// problem wraps err with what was being done, the sentinel that fits, and advice.
func (d *dir) problem(doing, name string, err error) error {
	doing += " " + name + " in " + d.root
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return problem(doing, ErrFull, err, "free space there, or name another target")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return problem(doing, ErrDenied, err, "let the node's account write there; a unit of systemd needs the line "+
			"ReadWritePaths="+d.root+" for that")
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// present returns ErrMissing unless the directory of the target exists.
func (d *dir) present() error {
	info, err := os.Stat(d.root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: there is no directory %s; make it, or mount the disk that has it", ErrMissing, d.root)
	case err != nil:
		return d.problem("look", "", err)
	case !info.IsDir():
		return fmt.Errorf("%w: %s is no directory", ErrMissing, d.root)
	}
	return nil
}

func (d *dir) Put(ctx context.Context, name string, r io.Reader) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := d.present(); err != nil {
		return err
	}
	d.sweep()
	if err := d.put(ctx, filepath.FromSlash(name), r); err != nil {
		return d.problem("put", name, err)
	}
	return nil
}

// put is Put without its checks. An os.Root refuses a directory of the object that is a link to elsewhere: the names of
// objects can be guessed.
func (d *dir) put(ctx context.Context, path string, r io.Reader) error {
	root, err := os.OpenRoot(d.root)
	if err != nil {
		return err
	}
	defer root.Close() // nothing is written to it itself
	if err := d.mkdir(root, filepath.Dir(path)); err != nil {
		return err
	}
	return writeWhole(ctx, root, path, r)
}

// writeWhole durably replaces path in root by a file with the bytes of r, or leaves it unchanged.
func writeWhole(ctx context.Context, root *os.Root, path string, r io.Reader) (err error) {
	temporary := filepath.Join(filepath.Dir(path), temporaryPrefix+rand.Text()+temporarySuffix)
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, contextReader{ctx, r})
	if err == nil {
		err = f.Sync() // before the rename: a crash must not leave the name with less than all bytes
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = root.Rename(temporary, path)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return syncDir(root, filepath.Dir(path))
}

// mkdir creates the directory path in root, if it does not exist, and makes its name durable in any case: another
// process may have created it and died.
func (d *dir) mkdir(root *os.Root, path string) error {
	d.mu.Lock()
	known := d.durable == path
	d.mu.Unlock()
	if known || path == "." {
		return nil
	}
	if err := root.MkdirAll(path, 0o700); err != nil {
		return err
	}
	for parent := filepath.Dir(path); ; parent = filepath.Dir(parent) {
		if err := syncDir(root, parent); err != nil {
			return err
		}
		if parent == "." {
			break
		}
	}
	d.mu.Lock()
	d.durable = path
	d.mu.Unlock()
	return nil
}

func (d *dir) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	f, err := os.Open(d.path(name))
	if err == nil {
		if info, statErr := f.Stat(); statErr != nil || !info.Mode().IsRegular() {
			f.Close()
			err = errors.Join(statErr, fs.ErrNotExist) // a directory is part of names, and no object
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if missing := d.present(); missing != nil {
			return nil, missing
		}
		return nil, fmt.Errorf("%s in %s: %w", name, d.root, ErrNotFound)
	case err != nil:
		return nil, d.problem("get", name, err)
	}
	return readCloser{contextReader{ctx, f}, f}, nil
}

func (d *dir) List(ctx context.Context, prefix string) ([]Object, error) {
	if err := d.present(); err != nil {
		return nil, err
	}
	var all []Object
	err := d.walk(ctx, prefix, func(path, name string, entry fs.DirEntry) error {
		if !strings.HasPrefix(name, prefix) || CheckName(name) != nil || !entry.Type().IsRegular() {
			return nil
		}
		info, err := entry.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // deleted meanwhile
		case err != nil:
			return err
		case len(all) == MaxObjects:
			return fmt.Errorf("it has more than %d objects", MaxObjects)
		}
		all = append(all, Object{Name: name, Bytes: info.Size(), Modified: info.ModTime()})
		return nil
	})
	if err != nil {
		return nil, d.problem("list", prefix+"*", err)
	}
	slices.SortFunc(all, func(a, b Object) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// walk calls fn for each file below the root. It skips directories that cannot contain names with prefix.
func (d *dir) walk(ctx context.Context, prefix string, fn func(path, name string, entry fs.DirEntry) error) error {
	return filepath.WalkDir(d.root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, fs.ErrNotExist) && path != d.root:
			return nil // deleted meanwhile
		case errors.Is(err, fs.ErrPermission) && lostfound.Is(entry) && filepath.Dir(path) == d.root:
			return fs.SkipDir // the target is the root of a file system, and only root may look into that directory
		case err != nil:
			return err
		case path == d.root:
			return nil
		}
		relative, err := filepath.Rel(d.root, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(relative)
		if entry.IsDir() {
			if below := name + "/"; !strings.HasPrefix(below, prefix) && !strings.HasPrefix(prefix, below) {
				return fs.SkipDir
			}
			return nil
		}
		return fn(path, name, entry)
	})
}

func (d *dir) Delete(_ context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := d.present(); err != nil {
		return err
	}
	path := filepath.FromSlash(name)
	root, err := os.OpenRoot(d.root)
	if err == nil {
		defer root.Close() // nothing is written to it itself
		err = root.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err == nil {
		err = syncDir(root, filepath.Dir(path))
	}
	if err != nil {
		return d.problem("delete", name, err)
	}
	return nil
}

// sweep removes temporary files of dead processes, at most every sweepEvery. Files that it cannot remove stay for the
// next time: they only take space.
func (d *dir) sweep() {
	now := time.Now()
	d.mu.Lock()
	due := now.Sub(d.swept) >= sweepEvery
	if due {
		d.swept = now
	}
	d.mu.Unlock()
	if !due {
		return
	}
	_ = d.walk(context.Background(), "", func(path, _ string, entry fs.DirEntry) error {
		base := entry.Name()
		if !strings.HasPrefix(base, temporaryPrefix) || !strings.HasSuffix(base, temporarySuffix) {
			return nil
		}
		if info, err := entry.Info(); err == nil && now.Sub(info.ModTime()) > temporaryOld {
			_ = os.Remove(path)
		}
		return nil
	})
}

// syncDir makes the names in a directory in root durable.
func syncDir(root *os.Root, path string) error {
	f, err := root.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// contextReader is a reader that fails after its context has ended.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

// readCloser is a reader with another's Close.
type readCloser struct {
	io.Reader
	io.Closer
}
