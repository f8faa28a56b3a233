package storage

import (
	"errors"
	"fmt"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"tenure/internal/oslimit"
	"tenure/storage/internal/disk"
	"tenure/storage/pages"
)

// ReadIdentity returns the identity in dir, which no process may have open, without opening the store. It writes
// nothing and reads only that record, so that a start does not take twice as long. If dir holds no store yet, ok is
// false. A node acts only on the content that Open finds. ReadIdentity tells which node it is before its ports are
// opened.
func ReadIdentity(dir string) (id Identity, ok bool, err error) {
	path := filepath.Join(dir, disk.LogName)
	if ok, err := disk.Exists(path); err != nil || !ok {
		return Identity{}, false, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return Identity{}, false, err
	}
	defer lock.Close()
	o := logBolt
	o.ReadOnly = true
	db, err := disk.OpenBolt(path, 0, o)
	if err != nil {
		return Identity{}, false, headDamage(path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var record identityRecord
	err = disk.Guard(path, func() error {
		return db.View(func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte(nodeBucket))
			if b == nil {
				return disk.Damaged(path, "the bucket of the node's records is missing")
			}
			if err := nodeSeed.OpenInto(identityKey, b.Get(identityKey), &record); err != nil {
				return disk.Damaged(path, "the identity: %w", fmt.Errorf("its record %w", err))
			}
			return nil
		})
	})
	if err != nil {
		return Identity{}, false, err
	}
	return record.public(), true, nil
}

// headDamage returns damage if the meta pages of the file at path do not hold, which bbolt says in other words; else err.
func headDamage(path string, err error) error {
	f, cannot := oslimit.Open(path)
	if cannot != nil {
		return err
	}
	defer f.Close()
	if bad := pages.CheckMetas(f); bad != nil {
		return disk.Damaged(path, "%w", bad)
	}
	return err
}
