package storage

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/storage/internal/sealed"
)

const (
	lockName     = "LOCK"
	acceptedName = "accept-copy" // made by an operator; see copied.go
)

// The buckets and keys of log.db.
const (
	nodeBucket     = "node"
	acceptorBucket = "acceptor"
	entryBucket    = "entries"
)

var (
	identityKey = []byte("identity")
	startKey    = []byte("start")
	diskKey     = []byte("disk")
	marksKey    = []byte("marks")

	nodeSeed     = sealed.SeedOf(nodeBucket)
	acceptorSeed = sealed.SeedOf(acceptorBucket)
	entrySeed    = sealed.SeedOf(entryBucket)
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

// logMarks is acceptor/marks, written by every commit of log.db.
type logMarks struct {
	Promised     ballot.Ballot
	Chosen       multipaxos.Slot
	Truncated    multipaxos.Slot
	Last         multipaxos.Slot // highest slot that ever had an entry, or Truncated
	Entries      sealed.Digest
	Journaled    uint64 // records of the journal up to this number are in log.db, or were cut off
	Generation   uint64 // commits of log.db so far
	JournalBytes int64  // size of the journal; 0: the store never had one
}

// durable are the marks of the log itself.
func (m *logMarks) durable() multipaxos.Durable {
	return multipaxos.Durable{Promised: m.Promised, Truncated: m.Truncated, Chosen: m.Chosen, Last: m.Last}
}

func (m *logMarks) setDurable(d multipaxos.Durable) {
	m.Promised, m.Truncated, m.Chosen, m.Last = d.Promised, d.Truncated, d.Chosen, d.Last
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
