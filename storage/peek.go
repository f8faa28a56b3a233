package storage

import (
	"path/filepath"

	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/disk"
)

// ReadIdentity returns the identity in dir, which no process may have open, without opening the store. It writes
// nothing but the lock file and reads only that record, so that a start does not take twice as long. If dir holds no store yet, ok is
// false. A node acts only on the content that Open finds. ReadIdentity tells which node it is before its ports are
// opened.
func ReadIdentity(dir string) (id Identity, ok bool, err error) {
	if err := checkOwner(dir); err != nil {
		return Identity{}, false, err
	}
	path := filepath.Join(dir, disk.LogName)
	if ok, err := disk.Exists(path); err != nil || !ok {
		return Identity{}, false, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return Identity{}, false, err
	}
	defer lock.Close()
	var record identityRecord
	if err := acceptor.Peek(path, "the identity", acceptor.NodeRecord{Key: identityKey, Value: &record}); err != nil {
		return Identity{}, false, err
	}
	return record.public(), true, nil
}
