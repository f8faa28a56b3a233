package storage

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"tenure/internal/oslimit"
	"tenure/storage/internal/disk"
	"tenure/storage/pages"
)

// logBolt: the free list is not written with each commit, it is found by a scan when the file is opened.
// stateBolt: no scan, the file may be large. The list must find space for itself, in one run of pages, with each
// checkpoint. The array is used up from the file's beginning and leaves such runs; the map breaks them up until the
// list goes to the file's end each time (TestStateDBFileStopsGrowing; 100,000 keys: 178 MiB of 223 free after 40
// minutes of writes, and growing).
var (
	logBolt = bolt.Options{NoFreelistSync: true, FreelistType: bolt.FreelistMapType, Timeout: time.Second,
		OpenFile: oslimit.OpenFile}
	stateBolt = bolt.Options{FreelistType: bolt.FreelistArrayType, Timeout: time.Second, OpenFile: oslimit.OpenFile}
)

// openBolt maps a file that has been read and found whole. Where address space is short, it maps less.
func openBolt(path string, mapBytes int64, o bolt.Options) (db *bolt.DB, err error) {
	for ; ; mapBytes /= 2 {
		o.InitialMmapSize = int(min(mapBytes, maxMapBytes))
		err = guard(path, func() error {
			db, err = bolt.Open(path, 0o600, &o)
			return err
		})
		if !errors.Is(err, unix.ENOMEM) || mapBytes < 1<<20 {
			break
		}
	}
	if err == nil || errors.Is(err, ErrDamaged) {
		return db, err
	}
	return nil, disk.Unusable("cannot open %s: %w; check that nothing else has it open and that the disk works",
		path, disk.Plain(err))
}

// maxMapBytes is what an int and bbolt allow.
const maxMapBytes = min(1<<47, int64(^uint(0)>>1))

// newFile makes a bbolt file with what fn puts into it.
func newFile(path string, o bolt.Options, fn func(*bolt.Tx) error) error {
	db, err := bolt.Open(path, 0o600, &o)
	if err != nil {
		return err
	}
	return errors.Join(db.Update(fn), db.Close())
}

// guard runs fn, which goes through a memory-mapped file. A panic of bbolt's, and a fault on a page that the disk can
// no longer give, come back as damage. fn must not contain code of the caller's, whose panics are no damage.
func guard(file string, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			err = disk.Damaged(file, "%w", r)
		default:
			err = disk.Damaged(file, "%s", fmt.Sprint(r))
		}
	}()
	return fn()
}

// transact runs fn in one write transaction and commits it. bbolt's Update is not used: after a panic it would read the
// damaged file once more, on a goroutine where a second panic ends the process without a message. If bbolt panics in
// Begin, wedged is set, unless it is nil.
func transact(db *bolt.DB, path string, wedged *atomic.Bool, fn func(*bolt.Tx) error) error {
	return guard(path, func() error {
		begun := false
		defer func() {
			if !begun && wedged != nil {
				wedged.Store(true)
			}
		}()
		tx, err := db.Begin(true)
		begun = true
		if err != nil {
			return err
		}
		done := false
		defer func() {
			if !done {
				tx.Rollback()
			}
		}()
		if err := fn(tx); err != nil {
			return err
		}
		err = tx.Commit()
		done = true
		return err
	})
}

// write runs fn in one write transaction, as transact does. An error ends the store.
func (f *failure) write(db *bolt.DB, path, what string, wedged *atomic.Bool, fn func(*bolt.Tx) error) error {
	err := transact(db, path, wedged, fn)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrDamaged):
		return f.fail(err)
	case errors.Is(err, errBadRecord), errors.Is(err, pages.ErrChanged):
		return f.fail(disk.Damaged(path, "%s: %w", what, err))
	}
	return f.fail(fmt.Errorf("%s: %s: %w", path, what, err))
}

// forgetPages makes the pages that bbolt has read through its map count as the page cache's, and not as this process's:
// cutting the log off touches every page once, and reads of the log are rare. No transaction that writes db runs.
func forgetPages(db *bolt.DB, file *os.File) {
	if n, err := disk.Size(file); err == nil {
		unmapPages(db.Info().Data, n)
	}
}
