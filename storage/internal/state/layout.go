package state

import (
	"fmt"

	"tenure/internal/ident"
	"tenure/kv"
	"tenure/storage/internal/sealed"
)

// The buckets and keys of state.db. The records of a kv.RecordKind lie in a bucket named by bucketOf.
const checkpointBucket = "fold" // its name in the format, which cannot change

var (
	ownerKey      = []byte("owner")
	checkpointKey = []byte("marks")

	checkpointSeed = sealed.SeedOf(checkpointBucket)
)

const bucketPrefix = "space-"

func bucketOf(s kv.RecordKind) string { return bucketPrefix + string([]byte{byte(s)}) }

// bucketNames and bucketSeeds are bucketOf and its seed of every kind.
var bucketNames, bucketSeeds = func() (names [256][]byte, seeds [256]sealed.Seed) {
	for i := range names {
		names[i] = []byte(bucketOf(kv.RecordKind(i)))
		seeds[i] = sealed.SeedOf(bucketOf(kv.RecordKind(i)))
	}
	return
}()

// KindOf returns the kind whose records lie in a bucket.
func KindOf(bucket string) (kind kv.RecordKind, ok bool) {
	if len(bucket) != len(bucketPrefix)+1 || bucket[:len(bucketPrefix)] != bucketPrefix {
		return 0, false
	}
	return kv.RecordKind(bucket[len(bucketPrefix)]), true
}

// OpenRecord returns the value in the record of a key. It is a part of record.
func OpenRecord(kind kv.RecordKind, key, record []byte) ([]byte, error) {
	value, err := bucketSeeds[kind].Open(key, record)
	if err != nil {
		return nil, fmt.Errorf("the record of key %q %w", key, err)
	}
	return value, nil
}

// Marks is checkpoint/marks, written by every transaction of state.db.
type Marks struct {
	Slot    uint64        // of the newest whole checkpoint
	Meta    []byte        // likewise
	Records sealed.Digest // of all kinds
	Plan    Plan
	// Membership is that of the sender, in a snapshot that has just been received. Checkpoints do not keep it.
	Membership ident.Membership
}

// Plan is the checkpoint of several parts that the state database is in the middle of; zero: none.
type Plan struct {
	Slot    uint64        // as in Marks, once it is whole
	Meta    []byte        // likewise
	Changes sealed.Digest // of all of its changes, as the redo file has them
	Bytes   int64         // of the redo file that are its
	Done    uint64        // changes that are in the state database
}
