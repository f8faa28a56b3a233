package acceptor

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"tenure/internal/oslimit"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/pages"
)

// Peek reads one record of the node out of the log.db at path, which no process may have open, into its value. It
// writes nothing and reads only that record. what names the record in an error.
func Peek(path, what string, r NodeRecord) (err error) {
	o := boltOptions
	o.ReadOnly = true
	db, err := disk.OpenBolt(path, 0, o)
	if err != nil {
		return headDamage(path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return disk.Guard(path, func() error {
		return db.View(func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte(NodeBucket))
			if b == nil {
				return disk.Damaged(path, "the bucket of the node's records is missing")
			}
			if err := nodeSeed.OpenInto(r.Key, b.Get(r.Key), r.Value); err != nil {
				return disk.Damaged(path, "%s: %w", what, fmt.Errorf("its record %w", err))
			}
			return nil
		})
	})
}

// headDamage returns damage if the meta pages of the file at path do not hold, which bbolt says in other words. Else it
// returns err.
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
