package service

import (
	"errors"
	"io"
	"time"

	"tenure/kv"
)

// Backups makes backups.
type Backups interface {
	// Backup begins a backup that has every write which was acknowledged before the call. The wait for a master is
	// bounded by timeout.
	Backup(timeout time.Duration) (Backup, error)
	// Restore replaces the state of the cluster by the snapshot that body has, once all of it was verified. install has
	// the idempotency key, if there is one. Besides those of a Node its errors are ErrSnapshot and
	// ErrSnapshotTooLarge; after these, and any result but kv.CodeDone, nothing was changed.
	Restore(timeout time.Duration, body io.Reader, install kv.Command) (kv.Result, error)
}

var (
	// ErrSnapshot: what was uploaded is not a whole snapshot.
	ErrSnapshot = errors.New("not a whole snapshot of Tenure")
	// ErrSnapshotTooLarge: what was uploaded is more than a running cluster takes.
	ErrSnapshotTooLarge = errors.New("the snapshot is larger than a running cluster takes")
)

// Backup is a backup that is being read by one goroutine.
type Backup interface {
	// Info returns what the backup is of.
	Info() BackupInfo
	// Next returns the next bytes, valid until the next call, or io.EOF behind the last ones.
	Next() ([]byte, error)
	// Rewind makes Next begin again, with the same bytes.
	Rewind()
	// Close ends it, whole or not; err says why not.
	Close(err error)
}

// BackupInfo is what a backup is of.
type BackupInfo struct {
	Cluster             string
	Slot, Revision, Era uint64
	Made                time.Time
}
