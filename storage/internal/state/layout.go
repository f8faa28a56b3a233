package state

import (
	"fmt"

	"tenure/internal/ident"
	"tenure/kv"
	"tenure/storage/internal/sealed"
)

// The buckets and keys of state.db. The records of a kv.Space lie in a bucket named by spaceBucket.
const checkpointBucket = "fold" // its name in the format, which cannot change

var (
	ownerKey      = []byte("owner")
	checkpointKey = []byte("marks")

	checkpointSeed = sealed.SeedOf(checkpointBucket)
)

const spacePrefix = "space-"

func spaceBucket(s kv.Space) string { return spacePrefix + string([]byte{byte(s)}) }

// spaceNames and spaceSeeds are spaceBucket and its seed of every space.
var spaceNames, spaceSeeds = func() (names [256][]byte, seeds [256]sealed.Seed) {
	for i := range names {
		names[i] = []byte(spaceBucket(kv.Space(i)))
		seeds[i] = sealed.SeedOf(spaceBucket(kv.Space(i)))
	}
	return
}()

// SpaceOf returns the space whose records lie in a bucket.
func SpaceOf(bucket string) (space kv.Space, ok bool) {
	if len(bucket) != len(spacePrefix)+1 || bucket[:len(spacePrefix)] != spacePrefix {
		return 0, false
	}
	return kv.Space(bucket[len(spacePrefix)]), true
}

// OpenRecord returns the value in the record of a key. It is a part of record.
func OpenRecord(space kv.Space, key, record []byte) ([]byte, error) {
	value, err := spaceSeeds[space].Open(key, record)
	if err != nil {
		return nil, fmt.Errorf("the record of key %q %w", key, err)
	}
	return value, nil
}

// Marks is checkpoint/marks, written by every transaction of state.db.
type Marks struct {
	Slot    uint64        // of the newest whole checkpoint
	Meta    []byte        // likewise
	Records sealed.Digest // of all spaces
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
