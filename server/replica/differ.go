package replica

import (
	"time"

	"tenure/multipaxos"
	"tenure/server/replica/elector"
)

// differing is the state of a log part that ends because its state differs from that of a majority.
type differing struct {
	err   *Differs // nil if it does not differ
	since uint64   // tick at which the difference was found
	held  uint64   // newest tick at which it held the master lease
}

// A node that differs waits at most differLetGoTicks until the master lease is released, and then differReleaseTicks so
// that the others learn of the release. Then it ends.
const (
	differLetGoTicks   = 50
	differReleaseTicks = 5
)

// tickDigests compares digests. A node that differs from a majority accepts no more requests and releases the master
// lease, so the others continue at once. Then tickDigests returns the error that ends the node. During a dispute
// nothing is truncated from the log.
func (l *Log) tickDigests(now time.Duration, p Published) error {
	l.compareSlots.tick(l.state.Applied())
	d := &l.differing
	if d.err == nil && l.ticks%heartbeatTicks == 0 {
		if d.err = l.digests.compare(l.cfg.Self.Node, l.members.voters, l.members.peers); d.err != nil {
			d.since = l.ticks
			l.HandOver(false)
		}
		through := multipaxos.NoPin
		if l.digests.dispute.Slot != 0 {
			through = 0
		}
		l.core.Pin(l.pins.set(pinDispute, through))
	}
	if d.err == nil {
		return nil
	}
	if p.Held(now) && l.ticks-d.since < differLetGoTicks {
		d.held = l.ticks
		l.letGo = elector.LetGo{Tenure: p.Tenure, Reason: elector.ReasonDiffers}
		l.StepDown(now)
		return nil
	}
	if d.held > 0 && l.ticks-d.held < differReleaseTicks {
		return nil
	}
	return d.err
}

// compareHere begins a checkpoint if compareSlots chooses the slot that was just applied, or the record in it says so.
// Like effect.Freeze, it freezes the memtable. Neither is skipped while another checkpoint runs: under load one of the
// nodes would nearly always be busy, and a slot that some nodes skip says little about which node differs.
func (l *Log) compareHere() {
	asked := l.changes.compare
	l.changes.compare = false
	if l.changes.holdsCheckpoints(l.now) || l.members.space != SpaceEnough {
		return
	}
	if asked || l.compareSlots.takes(l.state.Applied(), l.ticks) {
		l.checkpoints.beginCompared(l.state, l.ticks, asked)
	}
}
