package replica

import (
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
)

// admit queues w or refuses it.
func (l *Log) admit(w write) {
	switch {
	case l.leaving || (l.stopping && w.from != 0):
		l.out.answer(w, Refused, Stopping, kv.Result{})
	case l.queue.full(w):
		l.out.answer(w, Refused, Overloaded, kv.Result{})
	case l.epoch.ready && !l.members.spaceFor(w.frees):
		l.out.answer(w, Refused, NoSpace, kv.Result{})
	default:
		l.queue.push(w)
	}
}

// takeForwarded admits writes that another node forwarded. A node that holds no lease refuses them.
func (l *Log) takeForwarded(now time.Duration, from ballot.NodeID, writes []ForwardedWrite) {
	for _, f := range writes {
		w := write{id: f.ID, from: from, command: f.Command, frees: f.Frees, at: now, until: now + f.WaitFor}
		if l.epoch.tenure == 0 {
			l.out.answer(w, Refused, NoMaster, kv.Result{})
			continue
		}
		l.admit(w)
	}
}

// advance follows the lease and moves every waiting request on as far as it can go now.
func (l *Log) advance(now time.Duration, p Published) {
	l.now, l.deadline = now, p.Deadline
	l.follow(now, p)
	l.epoch.open(l.core)
	switch {
	case l.epoch.ready && l.stopping: // what waits goes to the next master
	case l.epoch.ready:
		l.driveMembers(now)
		if l.changes.holds {
			l.queue.refuseFull(&l.members, &l.out)
		} else if l.queue.refuseFull(&l.members, &l.out) && !l.checkpoints.full(l.state.TableBytes()) {
			l.batches.propose(now, &l.queue, l.core, l.epoch.tenure, &l.out)
		}
		l.reads.start(l.core, l.ticks)
	case l.epoch.tenure == 0:
		l.queue.sendBack(&l.out)
		master := l.master.other()
		if master != 0 && !l.master.silent(l.ticks) {
			l.forwards.forward(now, &l.queue, master, &l.out)
		}
		l.reads.ask(master, l.ticks, &l.out)
	}
}

// needsTime reports whether finish would decide anything by its clock reading, which must then be a fresh one. Else any
// reading of this round will do.
func (l *Log) needsTime() bool {
	return len(l.batches.applied) > 0 || len(l.changes.answers) > 0 || len(l.timers.fresh) > 0 ||
		len(l.reads.pending) > 0 || (l.epoch.ready && !l.master.isSelf())
}

// finish ends a round of inputs. now is a clock reading made after entries were applied, and p is published at that
// time. Writes are acknowledged, and reads get their points, only under the lease.
func (l *Log) finish(now time.Duration, p Published) {
	l.deadline = p.Deadline
	l.batches.acknowledge(now, p, l.epoch.tenure, l.next(), &l.out)
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
	l.announce(now)
}

// drainOutput drains the output, and that of the core.
func (l *Log) drainOutput() Output {
	o := l.core.Take()
	for i := range o.Persists {
		l.progress.disk.begin(l.now, o.Persists[i].Seq)
	}
	out := l.out.drain()
	out.Persists, out.Log = o.Persists, o.Messages
	out.Apply = uint64(l.core.Chosen()) > l.state.Applied()
	out.Level = l.levels.required(l.state.Level())
	if l.epoch.ready {
		out.Ready, out.Epoch = l.epoch.tenure, l.epoch.number()
	}
	return out
}
