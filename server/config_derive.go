package server

import (
	"cmp"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/lease"
	"tenure/lease/named"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/replica/leases"
	"tenure/server/watch"
)

// timing is the cluster's lease constants.
func (c Config) timing() lease.Timing {
	return lease.Timing{MaxMaster: c.LeaseTime, MaxUser: c.MaxLeaseTime, DriftPPM: c.ClockDriftPPM, Margin: c.LeaseMargin}
}

// DefaultLeases is the default of Config.MaxLeases: some 260 MB when all are live. MostLeases is its bound.
const (
	DefaultLeases = 2_000_000
	MostLeases    = named.LargestTable
)

// bucketLinger keeps what comes once a minute, as many jobs do, from costing a write each time.
const bucketLinger = 2 * time.Minute

// leases is the bounds of the part for named leases, whose acceptor keeps silent until the reading silentUntil.
func (c Config) leases(self ballot.Incarnation, m ident.Membership, silentUntil time.Duration, b named.Bucket,
	seed uint64) leases.Config {
	return leases.Config{
		Self: self, Voters: m.Voters(), MaxTasks: 16384, Seed: seed,
		Table: named.Config{Timing: c.timing(), Membership: m.Number, Era: m.Era, SilentUntil: silentUntil,
			Bucket: b, BucketLinger: bucketLinger, MaxRecords: cmp.Or(c.MaxLeases, DefaultLeases),
			Linger: 2 * time.Second, Width: 100 * time.Millisecond},
	}
}

// watch is the bounds of those who wait and of the changes that are remembered for them.
func (c Config) watch() watch.Limits {
	l := watch.LimitsOf(cmp.Or(c.WatchHistoryBytes, watch.DefaultHistoryBytes))
	l.Waiting = cmp.Or(c.Limits.MaxWaiting, l.Waiting)
	return l
}

// The tail of the log kept for members that lag, below the slot of the own state database. A member that restarts, or
// hangs for some seconds under full load, must not need a snapshot: a snapshot is the whole state. More entries would
// not help: an acceptor stores nothing further above its chosen mark than this. A checkpoint's worth of log is 64 MiB
// at most too, so the log takes about 128 MiB; while nobody lags, and the state is no large one, some 50 MiB, for which
// the journal has the place.
const (
	keepEntries = 65_536
	keepBytes   = 64 << 20
)

// keepLogForArchive bounds log.db while the archive does not have what is in it.
const keepLogForArchive = 1 << 30

// compareEvery is about how often a checkpoint is made for the sake of its digest. One of ten seconds' changes costs
// some syncs; a node that differs is found within about two of them.
const compareEvery = 10 * time.Second

// releaseName returns the name of a release as the log has it.
func releaseName(version string) string { return version[:min(len(version), kv.MaxReleaseBytes)] }

// replica is the bounds of the log part. The sums matter more than the parts: what one node can hold of requests,
// windows and caches stays below some 200 MiB with values of the default size.
func (c Config) replica(self ballot.Incarnation, m ident.Membership) replica.Config {
	// A transaction, which is one command, has the largest value and some more.
	batch := max(1<<20, c.MaxValueBytes+api.TxnSpaceBytes+8<<10)
	return replica.Config{
		Self: self, Membership: m, Timing: c.timing(),
		Level: replica.LevelConfig{Newest: kv.NewestLevel, Release: releaseName(c.Version), After: c.UpgradeAfter},
		Core: multipaxos.Config{
			Self: self, PageBytes: 1 << 20, WindowEntries: 4096, WindowBytes: max(8<<20, 2*batch),
			CacheBytes: 2 << 20, KeepEntries: keepEntries, KeepBytes: keepBytes,
			NeedOf: replica.NeedOf, MembershipOf: replica.MembershipOf,
		},
		MaxBatchBytes: batch, MaxInFlight: 4, GatherFor: time.Millisecond, MaxQueued: 16384, MaxQueuedBytes: max(32<<20,
			4*batch),
		MaxForwarded: 16384, MaxReads: 16384, ApplyBytes: 1 << 20, CheckpointBytes: 16 << 20,
		CheckpointLogBytes: 32 << 20,
		CompareEvery:       cmp.Or(c.CompareEvery, compareEvery),
	}
}
