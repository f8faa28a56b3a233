package replica

import (
	"tenure/kv"
	"tenure/multipaxos"
)

// checkpointing drives the merging of applied changes into the durable state database: one checkpoint at a time, and
// none ahead of what the node's own log has synced, so that no promise is ever truncated above what this node can
// prove.
type checkpointing struct {
	frozen  *kv.Frozen // taken out of the state, not yet durable
	handed  bool
	done    uint64 // slot of the newest durable checkpoint
	logged  int64  // bytes of the values applied since the last freeze
	stateDB int64  // bytes of the durable state database, as far as told
	unit    int64  // what the disk has space for, in place of Config.CheckpointBytes; 0: that is not known to be less
	begun   uint64 // tick of the newest freeze
}

// threshold is how many bytes of changes start a checkpoint. Keys at random places of a large state database share
// pages with few others of their checkpoint, and each page costs the same whatever changes in it; so a large state
// database is checkpointed in larger pieces: in a quarter of itself, up to largestCheckpoint.
func (f *checkpointing) threshold(l *Log) int64 {
	unit := f.bytes(l)
	if unit < l.cfg.CheckpointBytes {
		return unit
	}
	return min(max(unit, f.stateDB/4), largestCheckpoint*unit)
}

// bytes is the size of a checkpoint: Config.CheckpointBytes, or less where the disk has not the space for one.
func (f *checkpointing) bytes(l *Log) int64 {
	if f.unit == 0 {
		return l.cfg.CheckpointBytes
	}
	return min(f.unit, l.cfg.CheckpointBytes)
}

// full tells whether not checkpointed changes have reached their bound: proposing then waits for the checkpoint.
func (f *checkpointing) full(l *Log) bool {
	return l.state.TableBytes() >= f.threshold(l)+meanwhile*f.bytes(l)
}

// In units of checkpointing.bytes: the largest threshold of a checkpoint, and what may come while one runs.
const (
	largestCheckpoint = 4
	meanwhile         = 3
)

// SetCheckpointBytes tells how large a checkpoint the disk has space for, on top of all else that it writes; 0 is no
// bound but Config's. Where it is less than Config.CheckpointBytes the log keeps no tail either.
func (l *Log) SetCheckpointBytes(n int64) {
	l.checkpoint.unit = n
	l.core.SetShort(l.short())
}

// SetStateDBBytes tells how large the durable state database is.
func (l *Log) SetStateDBBytes(n int64) { l.checkpoint.stateDB = n }

// wantsCheckpoint reports whether it is time to start a checkpoint.
func (l *Log) wantsCheckpoint() bool {
	f := &l.checkpoint
	if f.frozen != nil {
		return false
	}
	if l.space != SpaceEnough && f.gains(l) {
		return true
	}
	return l.state.TableBytes() >= f.threshold(l) || f.logged >= min(l.cfg.CheckpointLogBytes, 4*f.bytes(l))
}

// gains reports whether a checkpoint may give space back although little has changed: something was applied since the
// last one, which was not just now. The checkpoint writes deletions to the state database, and the log is cut off
// behind it.
func (f *checkpointing) gains(l *Log) bool {
	return f.logged > 0 && l.ticks-f.begun >= shortCheckpointTicks
}

// shortCheckpointTicks is the least time between two checkpoints that only the want of space has started.
const shortCheckpointTicks = 50

// freeze starts a checkpoint. The shell holds the state's lock.
func (l *Log) freeze() {
	if l.checkpoint.frozen == nil {
		l.checkpoint.frozen, l.checkpoint.handed, l.checkpoint.logged = l.state.Freeze(), false, 0
		l.checkpoint.begun = l.ticks
	}
}

// hand gives the frozen changes out once the own log is synced through them.
func (f *checkpointing) hand(l *Log) {
	if f.frozen == nil || f.handed || uint64(l.core.SyncedThrough()) < f.frozen.Slot() {
		return
	}
	f.handed = true
	l.out.Checkpoint = f.frozen
}

// checkpointed reports that the checkpoint handed out is durable and visible. The shell holds the state's lock. An
// error is damage.
func (l *Log) checkpointed() error {
	if l.checkpoint.frozen == nil || !l.checkpoint.handed {
		panic("replica: a checkpoint was reported done that was not handed out")
	}
	if err := l.state.Checkpointed(); err != nil {
		return err
	}
	l.checkpoint.done = l.checkpoint.frozen.Slot()
	l.checkpoint.frozen, l.checkpoint.handed = nil, false
	l.core.Checkpointed(multipaxos.Slot(l.checkpoint.done))
	return nil
}
