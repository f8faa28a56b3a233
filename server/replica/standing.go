package replica

import (
	"time"

	"tenure/server/replica/elector"
)

// healthTicks is the number of Ticks between two reports of a node's health.
const healthTicks = heartbeatTicks

// Standing is what the log part tells the elector of this node's ability to serve (M6).
type Standing struct {
	// Barred: start no attempt for the lease.
	Barred bool
	// Able, and how long the node stands back yet, for people.
	Able      bool
	StandBack time.Duration
	// DiskUnanswered is for how long the disk has not answered; 0: it owes no answer.
	DiskUnanswered time.Duration
	// At is the reading at which this was so.
	At time.Duration
}

// Standing returns what the elector, and people, are to know now.
func (l *Log) Standing(now time.Duration) Standing {
	g := &l.progress
	return Standing{Barred: g.barred(now) || !l.members.votes(), Able: g.own.Able, StandBack: g.back.left(now),
		DiskUnanswered: g.disk.unanswered(now), At: now}
}

// tickProgress implements M6: a holder that gets nowhere stops acting for its lease, and has it released. It repeats
// the wish for the release until the elector has done it.
func (l *Log) tickProgress(now time.Duration, p Published) {
	if l.letGo.Tenure != 0 && (!p.Held(now) || p.Tenure != l.letGo.Tenure) {
		l.letGo = elector.LetGo{}
	}
	l.progress.hung(now, p.Hung)
	// Writes whose clients soon give up come and go, but the backlog of a disk or a full window stays. If there is no
	// space for the next write, a write counts as waiting.
	behind, _ := l.core.Behind()
	confirmed, full := l.core.ConfirmedRound(), l.checkpoints.full(l.state.TableBytes())
	if g := l.progress.step(now, reading{
		tenure: l.epoch.tenure, ready: l.epoch.ready, stopping: l.stopping,
		writes: len(l.queue.items) > 0 || len(l.batches.inFlight) > 0 || l.core.Last() > l.core.Chosen() || full ||
			(l.epoch.ready && !l.core.MayPropose()),
		reads:  l.reads.stuck(confirmed),
		chosen: uint64(l.core.Chosen()), confirmed: confirmed, pieces: l.core.Pieces(),
		checkpointing: full, space: l.members.space, behind: behind,
	}); g.Tenure != 0 {
		l.letGo = g
		l.StepDown(now)
	}
	if l.letGo.Tenure != 0 {
		l.out.out.LetGo = l.letGo
	}
	if l.progress.wantsProbe(now) {
		l.core.Probe()
	}
	if l.progress.own != l.progress.told || l.ticks%healthTicks == 0 {
		l.progress.told = l.progress.own
		h := l.progress.own
		l.out.out.Health = &h
	}
}
