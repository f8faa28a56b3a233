package acceptor

import (
	"os"

	bolt "go.etcd.io/bbolt"

	"tenure/storage/internal/disk"
)

// zeroChunkBytes is how many zeros are written at a time.
const zeroChunkBytes = 256 << 10

// Create writes the first content of log.db into f, with records of the node, durably.
func Create(f *os.File, logBytes, journalBytes int64, node []NodeRecord) error {
	err := disk.NewBolt(f.Name(), boltOptions, func(tx *bolt.Tx) error {
		return firstRecords(tx, node, &Marks{JournalBytes: journalBytes})
	})
	if err != nil {
		return err
	}
	if err := fillHoles(f); err != nil {
		return err
	}
	return zeroFill(f, logBytes)
}

func firstRecords(tx *bolt.Tx, node []NodeRecord, marks *Marks) error {
	b, err := tx.CreateBucket([]byte(NodeBucket))
	if err != nil {
		return err
	}
	acceptor, err := tx.CreateBucket([]byte(acceptorBucket))
	if err != nil {
		return err
	}
	if _, err := tx.CreateBucket([]byte(EntryBucket)); err != nil {
		return err
	}
	if err := putRecords(b, node); err != nil {
		return err
	}
	return acceptorSeed.Put(acceptor, marksKey, marks)
}

// fillHoles gives blocks to all of the beginning of f, which bbolt left with holes when it made the file: pages that a
// commit finds there must not need space. It writes the bytes as they are.
func fillHoles(f *os.File) error {
	size, err := disk.Size(f)
	if err != nil {
		return err
	}
	buf := make([]byte, min(size, zeroChunkBytes))
	if _, err := f.ReadAt(buf, 0); err != nil {
		return err
	}
	_, err = f.WriteAt(buf, 0)
	return err
}

var zeros [zeroChunkBytes]byte

// zeroFill writes zeros from the end of f up to size, and syncs. Written zeros are better than a hole or an
// allocation: a sync of pages inside them changes nothing but data.
func zeroFill(f *os.File, size int64) error {
	at, err := f.Seek(0, 2)
	if err != nil {
		return err
	}
	for at < size {
		n := min(size-at, zeroChunkBytes)
		if _, err := f.WriteAt(zeros[:n], at); err != nil {
			return err
		}
		at += n
	}
	return f.Sync()
}
