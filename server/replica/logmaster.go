package replica

import (
	"time"

	"tenure/server/replica/elector"
)

// follow implements M1 and M5. A new tenure of the lease opens a new epoch and forgets any earlier recovery. The end of
// the tenure ends leading. A higher promise ends readiness and starts recovery again under a new ballot within the same
// tenure. The tenure's number, which is stored data, decides continuity.
func (l *Log) follow(now time.Duration, p Published) {
	held := p.Held(now) && p.Tenure != l.letGo.Tenure && l.members.votes()
	leads := l.epoch.tenure
	if leads == 0 && l.stopping {
		return
	}
	switch {
	case leads != 0 && !l.members.votes():
		l.letGo = elector.LetGo{Tenure: leads, Reason: elector.ReasonNoVoter}
		l.StepDown(now)
	case leads == 0 && p.Held(now) && !l.members.votes() && p.Tenure != l.letGo.Tenure: // won by an attempt from before
		l.letGo = elector.LetGo{Tenure: p.Tenure, Reason: elector.ReasonNoVoter}
	case leads != 0 && (!held || p.Tenure != leads):
		l.StepDown(now)
		if held {
			l.epoch.lead(l.core, p.Tenure)
		}
	case leads == 0 && held:
		l.epoch.lead(l.core, p.Tenure)
	case leads != 0 && l.core.Preempted():
		l.closeEpoch()
		l.epoch.lead(l.core, p.Tenure)
	}
}

// StepDown ends leading: the lease was lost, or is about to be given up. Unanswered writes become unknown.
func (l *Log) StepDown(now time.Duration) {
	if !l.epoch.leads() {
		return
	}
	l.closeEpoch()
	l.core.Retire()
	l.epoch.tenure = 0
	l.members.announce(l.heartbeat(now), &l.out)
}

// closeEpoch ends readiness. Writes proposed and not acknowledged stay unknown. Queued writes wait on.
func (l *Log) closeEpoch() {
	l.epoch.close()
	l.prompt.forgetAll()
	l.master.resign()
	l.changes.end(l.master.node, &l.out)
	l.levels.end()
	l.settling.reset()
	l.batches.abandon(l.queue.unless(l.leaving), &l.out)
	l.timers.recall(&l.queue)
	l.timers.out = 0 // those in flight are lost: the next ready master asks again
	l.queue.sendBack(&l.out)
	l.reads.refuseRemote(&l.out)
}

// becomeMaster tells everybody that this node is ready to serve, and begins to measure times.
func (l *Log) becomeMaster(now time.Duration) {
	l.master.become(l.epoch.number(), now)
	l.forwards.recall(l.cfg.Self.Node, &l.queue)
	l.reads.unaskAll()
	l.members.announce(l.heartbeat(now), &l.out)
	l.timers.rearm(now)
	l.changes.begin(now, l.state.Applied(), l.ticks)
}
