//go:build linux

package faultfs

import (
	"context"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// node is a directory or a plain file; other kinds are passed through unread.
type node struct {
	fs.Inode
	fs   *FS
	file *file // nil for anything but a plain file
}

var (
	_ fs.NodeLookuper  = (*node)(nil)
	_ fs.NodeCreater   = (*node)(nil)
	_ fs.NodeMkdirer   = (*node)(nil)
	_ fs.NodeUnlinker  = (*node)(nil)
	_ fs.NodeRmdirer   = (*node)(nil)
	_ fs.NodeRenamer   = (*node)(nil)
	_ fs.NodeReaddirer = (*node)(nil)
	_ fs.NodeGetattrer = (*node)(nil)
	_ fs.NodeSetattrer = (*node)(nil)
	_ fs.NodeOpener    = (*node)(nil)
	_ fs.NodeReader    = (*node)(nil)
	_ fs.NodeWriter    = (*node)(nil)
	_ fs.NodeFsyncer   = (*node)(nil)
	_ fs.NodeAllocater = (*node)(nil)
	_ fs.NodeStatfser  = (*node)(nil)
)

func (n *node) path() string { return filepath.Join(n.fs.disk, n.Path(n.Root())) }

// child makes the node of a name and fills in its attributes.
func (n *node) child(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	path := filepath.Join(n.path(), name)
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return nil, fs.ToErrno(err)
	}
	c := &node{fs: n.fs}
	stable := fs.StableAttr{Mode: st.Mode & syscall.S_IFMT, Ino: st.Ino}
	if stable.Mode == syscall.S_IFREG {
		x, err := n.fs.file(path, st.Ino)
		if err != nil {
			return nil, fs.ToErrno(err)
		}
		c.file, stable.Gen = x, x.generation
	}
	c.attributes(&st, &out.Attr)
	return n.NewInode(ctx, c, stable), 0
}

func (n *node) attributes(st *syscall.Stat_t, out *fuse.Attr) {
	out.FromStat(st)
	if n.file != nil {
		out.Size = uint64(n.file.length())
		out.Blocks = (out.Size + sectorBytes - 1) / sectorBytes
	}
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.child(ctx, name, out)
}

func (n *node) Create(
	ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut,
) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if errno := n.pass(Create); errno != 0 {
		return nil, nil, 0, errno
	}
	path := filepath.Join(n.path(), name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, os.FileMode(mode).Perm())
	if err != nil {
		return nil, nil, 0, fs.ToErrno(err)
	}
	f.Close()
	n.own(ctx, path)
	n.fs.named(path)
	c, errno := n.child(ctx, name, out)
	return c, nil, 0, errno
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if errno := n.pass(Create); errno != 0 {
		return nil, errno
	}
	path := filepath.Join(n.path(), name)
	if err := os.Mkdir(path, os.FileMode(mode).Perm()); err != nil {
		return nil, fs.ToErrno(err)
	}
	n.own(ctx, path)
	n.fs.named(path)
	return n.child(ctx, name, out)
}

// own makes the user who created a new name its owner, as far as that is allowed.
func (n *node) own(ctx context.Context, path string) {
	if c, ok := fuse.FromContext(ctx); ok {
		os.Lchown(path, int(c.Uid), int(c.Gid))
	}
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	if errno := n.pass(Remove); errno != 0 {
		return errno
	}
	path := filepath.Join(n.path(), name)
	n.fs.gone(path)
	return fs.ToErrno(syscall.Unlink(path))
}

func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	if errno := n.pass(Remove); errno != 0 {
		return errno
	}
	return fs.ToErrno(syscall.Rmdir(filepath.Join(n.path(), name)))
}

func (n *node) Rename(
	_ context.Context, name string, parent fs.InodeEmbedder, newName string, flags uint32,
) syscall.Errno {
	to, ok := parent.(*node)
	if !ok || flags != 0 {
		return syscall.EINVAL
	}
	if errno := n.pass(Rename); errno != 0 {
		return errno
	}
	from, target := filepath.Join(n.path(), name), filepath.Join(to.path(), newName)
	_, err := os.Lstat(target)
	replaced := err == nil
	if replaced {
		n.fs.gone(target)
	}
	if err := syscall.Rename(from, target); err != nil {
		return fs.ToErrno(err)
	}
	n.fs.moved(from, target, replaced)
	return 0
}

func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	entries, err := os.ReadDir(n.path())
	if err != nil {
		return nil, fs.ToErrno(err)
	}
	list := make([]fuse.DirEntry, 0, len(entries))
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		st := info.Sys().(*syscall.Stat_t)
		list = append(list, fuse.DirEntry{Name: e.Name(), Mode: st.Mode & syscall.S_IFMT, Ino: st.Ino})
	}
	return fs.NewListDirStream(list), 0
}

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	var st syscall.Stat_t
	var err error
	if n.file != nil { // by its descriptor: the name may be gone
		err = syscall.Fstat(int(n.file.disk.Fd()), &st)
	} else {
		err = syscall.Lstat(n.path(), &st)
	}
	if err != nil {
		return fs.ToErrno(err)
	}
	n.attributes(&st, &out.Attr)
	return 0
}

func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok && n.file != nil {
		if errno := n.pass(Truncate); errno != 0 {
			return errno
		}
		if err := n.file.truncate(int64(size)); err != nil {
			return fs.ToErrno(err)
		}
	}
	if mode, ok := in.GetMode(); ok {
		if err := syscall.Chmod(n.path(), mode); err != nil {
			return fs.ToErrno(err)
		}
	}
	uid, uok := in.GetUID()
	gid, gok := in.GetGID()
	if uok || gok {
		u, g := -1, -1
		if uok {
			u = int(uid)
		}
		if gok {
			g = int(gid)
		}
		if err := os.Lchown(n.path(), u, g); err != nil {
			return fs.ToErrno(err)
		}
	}
	return n.Getattr(ctx, f, out)
}

func (n *node) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if n.file == nil {
		return nil, 0, syscall.ENOTSUP
	}
	return nil, 0, 0 // without KEEP_CACHE: what the kernel has cached is dropped, so that a crash shows
}

func (n *node) Read(_ context.Context, _ fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if errno := n.pass(Read); errno != 0 {
		return nil, errno
	}
	k, err := n.file.readAt(dest, off)
	if err != nil {
		return nil, fs.ToErrno(err)
	}
	return fuse.ReadResultData(dest[:k]), 0
}

func (n *node) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	if errno := n.pass(Write); errno != 0 {
		return 0, errno
	}
	if err := n.file.writeAt(data, off); err != nil {
		return 0, fs.ToErrno(err)
	}
	return uint32(len(data)), 0
}

// Fsync syncs a file or a directory.
func (n *node) Fsync(_ context.Context, _ fs.FileHandle, _ uint32) syscall.Errno {
	if errno := n.pass(Sync); errno != 0 {
		if n.file != nil && !n.fs.faults.isHalted() {
			n.file.failSync()
		}
		return errno
	}
	if n.fs.faults.lies() {
		return 0
	}
	if n.file == nil {
		n.fs.settled(n.path())
		return 0
	}
	return fs.ToErrno(n.file.sync())
}

// Allocate only moves the end: space is not modelled.
func (n *node) Allocate(_ context.Context, _ fs.FileHandle, off, size uint64, mode uint32) syscall.Errno {
	if mode != 0 || n.file == nil {
		return syscall.EOPNOTSUPP
	}
	if errno := n.pass(Write); errno != 0 {
		return errno
	}
	if end := int64(off + size); end > n.file.length() {
		return fs.ToErrno(n.file.truncate(end))
	}
	return 0
}

func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	var st syscall.Statfs_t
	if err := syscall.Statfs(n.fs.disk, &st); err != nil {
		return fs.ToErrno(err)
	}
	out.FromStatfsT(&st)
	if free := n.fs.faults.freeBytes(); free >= 0 {
		out.Bfree = uint64(free) / uint64(out.Bsize)
		out.Bavail = out.Bfree
	}
	return 0
}

// pass asks the faults about op.
func (n *node) pass(op Op) syscall.Errno { return n.fs.faults.pass(op) }
