package replica

import (
	"tenure/kv"
	"tenure/multipaxos"
)

// checkpoints drives the merging of applied changes into the durable state database. One checkpoint runs at a time, and
// none is ahead of the node's own synced log. So no promise is ever truncated above what this node can prove.
type checkpoints struct {
	maxBytes, logBytes int64 // Config.CheckpointBytes, Config.CheckpointLogBytes

	frozen  *kv.Frozen // taken out of the state, not yet durable
	next    *kv.Frozen // follows frozen, to be compared; or nil
	asked   bool       // a record asks for next
	kept    bool       // frozen has followed another one: the memtable has its changes yet
	handed  bool
	compare bool   // the digest of frozen is to be compared
	done    uint64 // slot of the newest durable checkpoint
	wanted  uint64 // slot through which somebody waits for one
	logged  int64  // bytes of the values applied since the last one began
	stateDB int64  // bytes of the durable state database, as far as told
	space   int64  // of one checkpoint on the disk; 0: enough
	begun   uint64 // tick at which the newest began
}

// bytes is the size of a checkpoint: maxBytes, or less where the disk has not the space for one.
func (c *checkpoints) bytes() int64 {
	if c.space == 0 {
		return c.maxBytes
	}
	return min(c.space, c.maxBytes)
}

// threshold is how many bytes of changes start a checkpoint. In a large state database random keys of one checkpoint
// seldom share a page, and each page costs the same for any change. So a large state database gets larger checkpoints:
// a quarter of its size, up to largestCheckpoint.
func (c *checkpoints) threshold() int64 {
	bytes := c.bytes()
	if bytes < c.maxBytes {
		return bytes
	}
	return min(max(bytes, c.stateDB/4), largestCheckpoint*bytes)
}

// full reports whether so many bytes of changes are the bound of memory: proposing then waits for the checkpoint.
func (c *checkpoints) full(changes int64) bool {
	return changes >= c.threshold()+duringCheckpoint*c.bytes()
}

// mayWait reports whether so many bytes of changes are well below the bound of memory.
func (c *checkpoints) mayWait(changes int64) bool { return changes < c.threshold()+c.bytes() }

// In units of checkpoints.bytes: the largest threshold of a checkpoint, and what may come while one runs.
const (
	largestCheckpoint = 4
	duringCheckpoint  = 3
)

// short reports whether the disk should keep little data that only other nodes need.
func (c *checkpoints) short(s Space) bool { return s != SpaceEnough || c.bytes() < c.maxBytes }

// due reports whether it is time to start a checkpoint of so many bytes of changes.
func (c *checkpoints) due(changes int64, s Space, tick uint64) bool {
	if c.frozen != nil {
		return false
	}
	if c.wanted > c.done {
		return true
	}
	if s != SpaceEnough && c.gains(tick) {
		return true
	}
	return changes >= c.threshold() || c.logged >= c.logLimit()
}

// logLimit is how many bytes of values start a checkpoint. A large checkpoint must not come early for the sake of the
// log.
func (c *checkpoints) logLimit() int64 {
	limit := c.logBytes
	if t := c.threshold(); t > c.bytes() {
		limit = max(limit, t)
	}
	return min(limit, 4*c.bytes())
}

// gains reports whether a checkpoint may give space back although little has changed: something was applied since the
// last one, which was not just now. The checkpoint writes deletions to the state database, and the log is cut off
// behind it.
func (c *checkpoints) gains(tick uint64) bool {
	return c.logged > 0 && tick-c.begun >= shortCheckpointTicks
}

// shortCheckpointTicks is the least time between two checkpoints that only the want of space has started.
const shortCheckpointTicks = 50

// applied counts an entry.
func (c *checkpoints) applied(e multipaxos.Entry) { c.logged += int64(len(e.Value)) + entryOverhead }

// entryOverhead is about what an entry takes in the log beside its value.
const entryOverhead = 64

// begin starts a checkpoint.
func (c *checkpoints) begin(state *kv.State, tick uint64) {
	if c.frozen == nil {
		c.frozen, c.kept, c.handed, c.compare, c.logged, c.begun = state.Freeze(), false, false, false, 0, tick
	}
}

// beginCompared starts a checkpoint of this slot for a comparison of digests; asked says that a record asks for it. If
// a checkpoint runs already, the new one follows it and leaves its changes in the memtable. If the running one did that
// too, and memory is short, this slot is skipped: a checkpoint that empties the memtable comes first. If several slots
// pass meanwhile, the newest one requested by a record is taken, or else the roundest. Nodes busy at other times choose
// the roundest too.
func (c *checkpoints) beginCompared(state *kv.State, tick uint64, asked bool) {
	switch {
	case c.frozen == nil:
		c.begin(state, tick)
		c.compare = true
	case c.next != nil && !asked && (c.asked || !rounder(state.Applied(), c.next.Slot())):
	case !c.kept || c.mayWait(state.TableBytes()):
		c.next, c.asked = state.FreezeNext(), asked
	}
}

// hand gives the frozen changes out once the own log is synced through them.
func (c *checkpoints) hand(synced multipaxos.Slot, out *outbox) {
	if c.frozen == nil || c.handed || uint64(synced) < c.frozen.Slot() {
		return
	}
	c.handed = true
	out.out.Checkpoint = c.frozen
}

// end takes note that the checkpoint handed out is durable and visible. An error is damage.
func (c *checkpoints) end(state *kv.State, core *multipaxos.Core) error {
	if c.frozen == nil || !c.handed {
		panic("replica: a checkpoint was reported done that was not handed out")
	}
	if err := state.Checkpointed(); err != nil {
		return err
	}
	c.done = c.frozen.Slot()
	c.kept, c.compare = c.next != nil, c.next != nil
	c.frozen, c.next, c.handed = c.next, nil, false
	core.Checkpointed(multipaxos.Slot(c.done))
	return nil
}

// WantCheckpoint has everything that is applied checkpointed soon, however little it is, and returns the slot. The
// caller waits until the state database has reached that slot.
func (l *Log) WantCheckpoint() multipaxos.Slot {
	l.checkpoints.wanted = max(l.checkpoints.wanted, l.state.Applied())
	return multipaxos.Slot(l.state.Applied())
}
