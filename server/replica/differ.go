package replica

import "time"

// differing is how the log part ends when its state differs from that of a majority.
type differing struct {
	err   *Differs // nil: it does not
	since uint64   // tick at which that was found
	held  uint64   // newest tick at which the master lease was held
}

// Ticks that a node which differs waits before it ends: at most until the lease is let go, and then until the others
// have been told so.
const (
	differLetGoTicks   = 50
	differReleaseTicks = 5
)

// tickDigests compares digests. A node that differs from a majority takes no work any more and lets go of the master
// lease first, so that the others go on at once; then it returns the error that ends the node. While it is not known
// who is right, the log is kept whole.
func (l *Log) tickDigests(now time.Duration, p Published) error {
	l.compareSlots.tick(l.state.Applied())
	d := &l.differing
	if d.err == nil && l.ticks%heartbeatTicks == 0 {
		if d.err = l.digests.compare(l.cfg.Self.Node, l.members.voters, l.members.peers); d.err != nil {
			d.since = l.ticks
			l.Stop()
		}
		l.core.KeepAll(l.digests.dispute.Slot != 0)
	}
	if d.err == nil {
		return nil
	}
	if p.Held(now) && l.ticks-d.since < differLetGoTicks {
		d.held = l.ticks
		l.letGo = LetGo{Tenure: p.Tenure, Reason: ReasonDiffers}
		l.StepDown(now)
		return nil
	}
	if d.held > 0 && l.ticks-d.held < differReleaseTicks {
		return nil
	}
	return d.err
}

// checkpointed takes the end of a checkpoint, and the digest of the state that is durable now; 0: it is not known.
func (l *Log) checkpointed(digest uint64) error {
	compare := l.checkpoints.compare
	if err := l.checkpoints.end(l.state, l.core); err != nil {
		return err
	}
	l.digests.add(Digest{Slot: l.checkpoints.done, Sum: digest}, compare)
	return nil
}

// compareHere begins a checkpoint if the state as it is after the slot that was just applied is to be compared. It
// changes the state as EffectFreeze does.
func (l *Log) compareHere() {
	if l.checkpoints.frozen != nil || l.members.space != SpaceEnough {
		return
	}
	if l.compareSlots.takes(l.state.Applied(), l.ticks) {
		l.checkpoints.begin(l.state, l.ticks)
		l.checkpoints.compare = true
	}
}

// freezes reports whether a checkpoint is to begin with this tick.
func (l *Log) freezes() bool {
	c := &l.checkpoints
	if c.due(l.state.TableBytes(), l.members.space, l.ticks) {
		return true
	}
	return c.frozen == nil && l.state.Applied() > c.done && l.compareSlots.rests() && l.members.space == SpaceEnough
}
