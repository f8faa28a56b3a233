package disk

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// OpenBolt maps the bbolt file at path, which has been read and found whole. It maps mapBytes of address space, and
// less where that is short.
func OpenBolt(path string, mapBytes int64, o bolt.Options) (db *bolt.DB, err error) {
	for ; ; mapBytes /= 2 {
		o.InitialMmapSize = int(min(mapBytes, maxMapBytes))
		err = Guard(path, func() error {
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
	return nil, Unusable("cannot open %s: %w; check that nothing else has it open and that the disk works",
		path, Plain(err))
}

// maxMapBytes is what an int and bbolt allow.
const maxMapBytes = min(1<<47, int64(^uint(0)>>1))

// NewBolt makes a bbolt file with what fn puts into it.
func NewBolt(path string, o bolt.Options, fn func(*bolt.Tx) error) error {
	db, err := bolt.Open(path, 0o600, &o)
	if err != nil {
		return err
	}
	return errors.Join(db.Update(fn), db.Close())
}

// Guard runs fn, which goes through a memory-mapped file. A panic of bbolt's, and a fault on a page that the disk can
// no longer give, come back as damage. fn must not contain code of the caller's, whose panics are no damage.
func Guard(file string, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			err = Damaged(file, "%w", r)
		default:
			err = Damaged(file, "%s", fmt.Sprint(r))
		}
	}()
	return fn()
}

// Transact runs fn in one write transaction and commits it. bbolt's Update is not used: after a panic it would read the
// damaged file once more, on a goroutine where a second panic ends the process without a message. If bbolt panics in
// Begin, wedged is set, unless it is nil.
func Transact(db *bolt.DB, path string, wedged *atomic.Bool, fn func(*bolt.Tx) error) error {
	return Guard(path, func() error {
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

// Write runs fn in one write transaction of db, the file at path, as Transact does. What names the transaction in the
// error, which ends the store. An error of fn that wraps ErrBadRecord or ErrChanged is damage.
func (f *Failure) Write(db *bolt.DB, path, what string, wedged *atomic.Bool, fn func(*bolt.Tx) error) error {
	err := Transact(db, path, wedged, fn)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrDamaged):
		return f.Fail(err)
	case errors.Is(err, ErrBadRecord), errors.Is(err, ErrChanged):
		return f.Fail(Damaged(path, "%s: %w", what, err))
	}
	return f.Fail(fmt.Errorf("%s: %s: %w", path, what, err))
}

// ForgetPages makes the pages that bbolt has read through its map count as the page cache's, and not as this process's:
// cutting the log off touches every page once, and reads of the log are rare. No transaction that writes db runs.
func ForgetPages(db *bolt.DB, file *os.File) {
	if n, err := Size(file); err == nil {
		unmapPages(db.Info().Data, n)
	}
}
