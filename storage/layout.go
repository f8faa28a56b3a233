package storage

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/storage/internal/disk"
)

const (
	lockName     = "LOCK"
	newLogName   = "log.db.new"  // while a store is being created
	acceptedName = "accept-copy" // made by an operator; see copied.go
)

// purposes has the purpose of each file of a node.
var purposes = map[string]string{
	lockName: "lock", disk.LogName: "identity and log", disk.JournalName: "newest commits",
	disk.StateName: "state database",
	disk.SumsName:  "checksums of the pages of the state database", disk.NewSumsName: "those, while they are made anew",
	disk.RedoName:    "changes of a checkpoint in parts",
	disk.ReserveName: "held space", newLogName: "a store that was being made",
	disk.ReceivingName: "a snapshot that was coming in", disk.ReceivedName: "a snapshot to install",
	disk.ReceivedSumsName: "its checksums", differsName: "why no node starts here any more",
	acceptedName: "an operator's statement that the directory was moved",
}

// The keys of the records of the node, which lie in log.db.
var (
	identityKey = []byte("identity")
	startKey    = []byte("start")
	diskKey     = []byte("disk")
)

// identityRecord is node/identity.
type identityRecord struct {
	Store      ident.StoreID
	Node       ballot.NodeID
	Cluster    ident.ClusterID
	Membership ident.Membership // the newest
	Bootstrap  ident.Membership // the first, if this store took part in the bootstrap and Membership is a later one
	StartedAs  ballot.NodeID    // see Identity
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
