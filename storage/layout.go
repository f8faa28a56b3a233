package storage

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/storage/internal/sealed"
)

const (
	lockName     = "LOCK"
	acceptedName = "accept-copy" // made by an operator; see copied.go
)

// The keys of the records of the node, which lie in log.db.
var (
	identityKey = []byte("identity")
	startKey    = []byte("start")
	diskKey     = []byte("disk")
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

// spaceOf returns the space whose records lie in a bucket.
func spaceOf(bucket string) (space kv.Space, ok bool) {
	if len(bucket) != len(spacePrefix)+1 || bucket[:len(spacePrefix)] != spacePrefix {
		return 0, false
	}
	return kv.Space(bucket[len(spacePrefix)]), true
}

// openRecord returns the value in the record of a key. It is a part of record.
func openRecord(space kv.Space, key, record []byte) ([]byte, error) {
	value, err := spaceSeeds[space].Open(key, record)
	if err != nil {
		return nil, fmt.Errorf("the record of key %q %w", key, err)
	}
	return value, nil
}

// identityRecord is node/identity.
type identityRecord struct {
	Store      ident.StoreID
	Node       ballot.NodeID
	Cluster    ident.ClusterID
	Membership ident.Membership // the newest
	Bootstrap  ident.Membership // the first, if this store took part in the bootstrap and Membership is a later one
	StartedAs  ballot.NodeID    // see Identity; 0 in directories of older releases
}

// startRecord is node/start.
type startRecord struct {
	Restart uint64
	Master  time.Duration
	User    time.Duration
	Bucket  time.Duration // 0: no run has written one
	Longest time.Duration // 0: as Bucket
}

// diskRecord is node/disk: where log.db lay when it was written. See copied.go.
type diskRecord struct {
	Inode     uint64
	BirthSec  int64
	BirthNsec int64
	Machine   string
}

// checkpointMarks is checkpoint/marks, written by every transaction of state.db.
type checkpointMarks struct {
	Slot    uint64        // of the newest whole checkpoint
	Meta    []byte        // likewise
	Records sealed.Digest // of all spaces
	Plan    checkpointPlan
	// Membership is that of the sender, in a snapshot that has just been received. Checkpoints do not keep it.
	Membership ident.Membership
}

// checkpointPlan is the checkpoint of several parts that the state database is in the middle of; zero: none.
type checkpointPlan struct {
	Slot    uint64        // as in checkpointMarks, once it is whole
	Meta    []byte        // likewise
	Changes sealed.Digest // of all of its changes, as the redo file has them
	Bytes   int64         // of the redo file that are its
	Done    uint64        // changes that are in the state database
}
