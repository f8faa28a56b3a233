package replica

import (
	"errors"
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/lease"
	"tenure/multipaxos"
)

// Config is fixed for a run. Every queue and table of the log part has its bound here.
type Config struct {
	Self          ballot.Incarnation
	Core          multipaxos.Config
	MaxBatchBytes int // commands gathered into one slot
	MaxInFlight   int // slots of commands proposed and not yet applied
	// GatherFor is how long the newest slot in flight must have been out before the next one follows, unless a whole
	// batch waits; it is looked at when something happens, at a tick at the latest. On a fast network one batch is then
	// out at a time, and larger; on a slow one MaxInFlight are. Zero: they follow at once.
	GatherFor      time.Duration
	MaxQueued      int // writes that wait to be proposed or forwarded
	MaxQueuedBytes int
	MaxForwarded   int // writes forwarded and not yet answered
	MaxReads       int // reads that wait for a read point
	ApplyBytes     int // values applied in one go
	// CheckpointBytes is how many bytes of changes start a checkpoint, up to largestCheckpoint times as many if the state
	// database is large: the bound of memory.
	CheckpointBytes    int64
	CheckpointLogBytes int64 // values applied since the last checkpoint that start one, unless it is to be large
	// CompareEvery is about how often a checkpoint is made so that the digests of the nodes can be compared.
	CompareEvery time.Duration
	// Digest is that of the state database as it was opened; 0: it is not known.
	Digest uint64
	// Membership is the durable one of this node's identity. It holds as long as the state has no record of the members.
	Membership ident.Membership
	// Timing is that of the leases: how long those under an older membership may live yet. The lease time of the master
	// lease also sets the bounds of progress, and after which silence a master is unknown.
	Timing lease.Timing
	Level  LevelConfig
}

// Validate tells which bound is missing.
func (c Config) Validate() error {
	for _, b := range []struct {
		name  string
		value int64
	}{
		{"MaxBatchBytes", int64(c.MaxBatchBytes)}, {"MaxInFlight", int64(c.MaxInFlight)},
		{"MaxQueued", int64(c.MaxQueued)}, {"MaxQueuedBytes", int64(c.MaxQueuedBytes)},
		{"MaxForwarded", int64(c.MaxForwarded)}, {"MaxReads", int64(c.MaxReads)},
		{"ApplyBytes", int64(c.ApplyBytes)}, {"CheckpointBytes", c.CheckpointBytes}, {"CheckpointLogBytes",
			c.CheckpointLogBytes},
		{"CompareEvery", int64(c.CompareEvery)},
	} {
		if b.value <= 0 {
			return fmt.Errorf("replica: %s must be positive", b.name)
		}
	}
	if c.Membership.Number == 0 {
		return errors.New("replica: Membership must not be zero")
	}
	return c.Timing.Validate()
}
