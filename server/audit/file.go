package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"tenure/internal/ownfile"
)

// file is a file that is moved away when it is large. It is not safe for concurrent use.
type file struct {
	cfg  Config
	f    *os.File // nil after a failure, until it can be opened again
	size int64
}

// openFile opens the file for appending. Only its owner may read it, because it shows who uses which keys.
func openFile(cfg Config) (*file, error) {
	f := &file{cfg: cfg}
	return f, f.open()
}

func (f *file) open() error {
	opened, err := ownfile.Open(f.cfg.Path, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return err
	}
	size, err := endLine(opened)
	if err == nil {
		err = opened.Chmod(0o600) // it may have been made with another
	}
	if err != nil {
		return errors.Join(err, opened.Close())
	}
	f.f, f.size = opened, size
	return nil
}

// endLine ends a line that a crash or a full disk has cut off, and returns the size of the file.
func endLine(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := info.Size()
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is no regular file: give - for standard output", f.Name())
	}
	if size == 0 {
		return 0, nil
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil || last[0] == '\n' {
		return size, err
	}
	_, err = f.Write([]byte{'\n'})
	return size + 1, err
}

// errNotMoved is wrapped by the error of a Write that has written everything, into a file beyond its limit: the log is
// worth more than the limit.
var errNotMoved = errors.New("the file cannot be moved away and grows")

// Write writes whole lines, and moves the file away before a line that would exceed its limit. It returns the number of
// bytes that are in a file.
func (f *file) Write(lines []byte) (n int, err error) {
	if err := f.reopen(); err != nil {
		return 0, err
	}
	var kept error
	for n < len(lines) {
		space := f.cfg.FileBytes - f.size
		piece := fitting(lines[n:], space)
		if f.size > 0 && int64(len(piece)) > space && kept == nil {
			if kept = f.rotate(); f.f == nil {
				return n, kept
			}
			continue
		}
		if kept != nil {
			piece = lines[n:]
		}
		written, err := f.f.Write(piece)
		if err != nil {
			n += f.cutBack(piece[:written])
			f.close()
			return n, err
		}
		f.size += int64(written)
		n += written
	}
	if kept != nil {
		return n, fmt.Errorf("%w: %w", errNotMoved, kept)
	}
	return n, nil
}

// cutBack removes a partly written line, because a reader of JSON would stop there. It returns the number of bytes of
// whole lines. A part that cannot be removed is ended as a line when the file is opened again.
func (f *file) cutBack(written []byte) int {
	whole := bytes.LastIndexByte(written, '\n') + 1
	if whole < len(written) {
		_ = f.f.Truncate(f.size + int64(whole))
	}
	return whole
}

// fitting returns the first of lines that fit into space, but at least one line.
func fitting(lines []byte, space int64) []byte {
	if int64(len(lines)) <= space {
		return lines
	}
	if i := bytes.LastIndexByte(lines[:max(space, 0)], '\n'); i >= 0 {
		return lines[:i+1]
	}
	return lines[:bytes.IndexByte(lines, '\n')+1]
}

// reopen opens the file anew if another process has moved or deleted it.
func (f *file) reopen() error {
	if f.f == nil {
		return f.open()
	}
	own, err := f.f.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Lstat(f.cfg.Path); err == nil && os.SameFile(own, now) {
		f.size = now.Size() // somebody else may have cut it off
		return nil
	}
	f.close()
	return f.open()
}

// rotate moves the file away and begins another one.
func (f *file) rotate() error {
	f.close()
	for i := f.cfg.Keep; i > 0; i-- {
		if err := os.Rename(f.name(i-1), f.name(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, f.open())
		}
	}
	if f.cfg.Keep == 0 {
		if err := os.Remove(f.cfg.Path); err != nil {
			return errors.Join(err, f.open())
		}
	}
	return f.open()
}

// name returns the name of the i-th newest file.
func (f *file) name(i int) string {
	if i == 0 {
		return f.cfg.Path
	}
	return f.cfg.Path + "." + strconv.Itoa(i)
}

func (f *file) close() {
	_ = f.f.Close() // every write has said already whether it failed
	f.f = nil
}

// Close closes the file.
func (f *file) Close() error {
	if f.f != nil {
		f.close()
	}
	return nil
}
