package replica

import (
	"time"

	"tenure/kv"
	"tenure/multipaxos"
)

// apply applies chosen entries in slot order, up to a bounded number of bytes. The shell holds the state's lock. An
// error is damage: the node must stop.
func (l *Log) apply() error {
	from := multipaxos.Slot(l.state.Applied() + 1)
	if l.core.Chosen() < from {
		return nil
	}
	entries, err := l.core.ChosenEntries(from, l.cfg.ApplyBytes)
	if err != nil {
		return err
	}
	for _, e := range entries {
		batch, err := batchOf(e)
		if err != nil {
			return err
		}
		results, err := l.state.Apply(uint64(e.Slot), batch)
		if err != nil {
			return err
		}
		l.checkpoint.logged += int64(len(e.Value)) + entryOverhead
		l.land(e, results)
		l.opened(e)
	}
	l.core.Applied(multipaxos.Slot(l.state.Applied()))
	return nil
}

// entryOverhead is about what an entry takes in the log beside its value.
const entryOverhead = 64

// land takes the flight of an applied slot out of those in the air.
func (l *Log) land(e multipaxos.Entry, results []kv.Result) {
	if len(l.flights) == 0 || l.flights[0].slot != e.Slot {
		return
	}
	f := l.flights[0]
	l.flights = l.flights[1:]
	l.timers.landed(f.writes)
	f.results, f.lost = results, f.ballot != e.Ballot
	l.landed = append(l.landed, f)
}

// finish ends a round of inputs: now is a clock reading made after Apply, p what is published at that time. Writes
// whose slot was applied are acknowledged if the lease is still held in the same epoch, else they are unknown: a
// master that was paused must not acknowledge a write behind the back of its successor's reads. Reads get their
// points under the same check.
func (l *Log) finish(now time.Duration, p Published) {
	for _, f := range l.landed {
		ok := !f.lost && f.tenure == l.tenure && p.Tenure == f.tenure && p.Held(now)
		for i, w := range f.writes {
			if ok {
				l.answer(w, Done, NoReason, f.results[i])
			} else {
				l.answer(w, Unknown, LeaseLost, kv.Result{})
			}
		}
	}
	clear(l.landed)
	l.landed = l.landed[:0]
	l.timers.settle(now)
	if l.ready && l.master.node != l.cfg.Self.Node {
		l.becomeMaster(now, p)
	}
	l.reads.finish(l, now, p)
	l.checkpoint.hand(l)
}

// needsTime tells whether finish would decide anything by its clock reading, which must then be a fresh one. Else any
// reading of this round will do.
func (l *Log) needsTime() bool {
	return len(l.landed) > 0 || len(l.timers.fresh) > 0 || len(l.reads.pending) > 0 || (l.ready && l.master.node != l.cfg.Self.Node)
}

// becomeMaster tells everybody that this node is ready to serve, and begins to measure times.
func (l *Log) becomeMaster(now time.Duration, p Published) {
	l.master = masterView{node: l.cfg.Self.Node, epoch: uint64(l.barrier), heard: now}
	l.away.recall(l, func(a *awayWrite) bool { return a.keyed })
	l.sendHeartbeats(now, p.Deadline)
	l.timers.rearm(now)
}
