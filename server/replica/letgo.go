package replica

import (
	"time"

	"tenure/internal/ballot"
)

// healthTicks is the number of Ticks between two words of a node's health.
const healthTicks = heartbeatTicks

// Standing is what the log part tells the lease part of this node's ability to serve (M6).
type Standing struct {
	// Barred: start no attempt for the lease.
	Barred bool
	// Able, and how long the node stands back yet, for people.
	Able      bool
	StandBack time.Duration
	// DiskSilent is for how long the disk has not answered; 0: it owes no answer.
	DiskSilent time.Duration
	// At is the reading at which this was so.
	At time.Duration
}

// hearHealth takes another voter's word of itself.
func (l *Log) hearHealth(now time.Duration, from ballot.NodeID, h Health) { l.pace.hear(now, from, h) }

// Standing returns what the lease part, and people, are to know now.
func (l *Log) Standing(now time.Duration) Standing {
	g := &l.pace
	return Standing{Barred: g.barred(now), Able: g.own.Able, StandBack: g.back.left(now), DiskSilent: g.disk.silence(now), At: now}
}

// tickProgress implements M6: a holder that gets nowhere stops acting for its lease, and has it released. It repeats
// the wish for the release until the lease part has done it.
func (l *Log) tickProgress(now time.Duration, p Published) {
	if l.letGo.Tenure != 0 && (!p.Held(now) || p.Tenure != l.letGo.Tenure) {
		l.letGo = LetGo{}
	}
	r := l.reading()
	if g := l.pace.step(now, r); g.Tenure != 0 {
		l.letGo = g
		l.stepDown(now)
	}
	if l.letGo.Tenure != 0 {
		l.out.LetGo = l.letGo
	}
	if l.pace.wantsProbe(now) {
		l.core.Probe()
	}
	if l.pace.own != l.pace.told || l.ticks%healthTicks == 0 {
		l.pace.told = l.pace.own
		h := l.pace.own
		l.out.Health = &h
	}
}

// reading is what M6 is judged by. Writes whose clients give up soon come and go, but the backlog of a disk, or a
// window that is full, stays: where there is no space for the next write, one waits.
func (l *Log) reading() reading {
	confirmed, full := l.core.ConfirmedRound(), l.checkpoint.full(l)
	return reading{
		tenure: l.tenure, ready: l.ready, stopping: l.stopping,
		writes: len(l.queue.items) > 0 || len(l.flights) > 0 || l.core.Last() > l.core.Chosen() || full || (l.ready && !l.core.Space()),
		reads:  len(l.reads.pending) > 0 && l.reads.round > confirmed,
		chosen: uint64(l.core.Chosen()), confirmed: confirmed, pieces: l.core.Pieces(),
		checkpointing: full, space: l.space, behind: l.core.Behind(),
	}
}
