package replica

import (
	"time"

	"tenure/kv"
)

// admit queues w or refuses it. A node that holds no lease refuses what another node has forwarded.
func (l *Log) admit(w write) {
	switch {
	case w.from != 0 && !l.epoch.leads():
		l.out.answer(w, Refused, NoMaster, kv.Result{})
	case l.leaving || (l.stopping && w.from != 0):
		l.out.answer(w, Refused, Stopping, kv.Result{})
	case l.queue.full(w):
		l.out.answer(w, Refused, Overloaded, kv.Result{})
	case l.epoch.ready && !l.members.spaceFor(w.Frees):
		l.out.answer(w, Refused, NoSpace, kv.Result{})
	default:
		l.queue.push(w)
	}
}

// advance follows the lease and moves every waiting request on as far as it can go now.
func (l *Log) advance(now time.Duration, p Published) {
	l.now, l.deadline = now, p.Deadline
	l.follow(now, p)
	l.epoch.open(l.core)
	switch {
	case l.epoch.leads() && !l.epoch.ready:
		// What waits is proposed once the barrier entry is applied.
	case l.epoch.ready && l.stopping:
		// What waits goes to the next master.
	case l.epoch.ready:
		if l.prompt.late(now) {
			l.hurry(now)
		}
		l.driveMembers(now)
		if l.changes.holds {
			l.queue.refuseFull(&l.members, &l.out)
		} else if l.queue.refuseFull(&l.members, &l.out) && !l.checkpoints.full(l.state.TableBytes()) {
			l.batches.propose(now, &l.queue, l.core, l.epoch.tenure, &l.out)
		}
		l.reads.start(l.core, l.ticks)
	default:
		l.queue.sendBack(&l.out)
		master := l.master.other()
		if master != 0 && !l.master.hangs(l.ticks) {
			l.forwards.forward(now, &l.queue, master, &l.out)
		}
		l.reads.ask(master, l.ticks, &l.out)
	}
}

// finish ends a pass. now is a clock reading made after entries were applied, and p is what was published then. Writes
// are acknowledged, and reads get their points, only under the lease. l.now stays the reading of advance: the disk is
// watched from there on for the Persists of this half too.
func (l *Log) finish(now time.Duration, p Published) {
	l.deadline = p.Deadline
	l.batches.acknowledge(now, p, l.epoch.tenure, l.queue.unless(l.leaving), &l.out)
	l.changes.acknowledge(now, p, l.epoch.tenure, &l.out)
	l.timers.settle(now)
	if l.epoch.ready && !l.master.isSelf() {
		l.becomeMaster(now)
	}
	if l.epoch.ready && len(l.reads.pending) > 0 {
		l.reads.finishAtMaster(now, p, &l.epoch, l.state.Applied(), l.core, &l.out)
	}
	l.reads.finish(l.state.Applied(), &l.out)
	l.checkpoints.hand(l.core.SyncedThrough(), &l.out)
	l.inForce.hand(now, l.core.MarkedThrough(), &l.members, &l.out)
}
