package replica

import "time"

const (
	// FinishFor is how long a master that stops or hands over may take to finish writes in flight.
	FinishFor = 100 * time.Millisecond
	// StandBackLeases is for how many lease times it then stands back.
	StandBackLeases = 4
)

// NudgeStandBack returns how long a node stands back that hears the old master name another as the next one: the named
// one tries meanwhile.
func NudgeStandBack(leaseTime time.Duration) time.Duration { return leaseTime / 4 }

// HandOver begins the end of this node's mastership: it proposes nothing any more. If the node stays, it keeps the
// requests of its own clients for the next master, and Resume ends the hand-over. Otherwise it takes no requests any
// more, and refuses those that are not proposed.
func (l *Log) HandOver(stays bool) {
	l.stopping = true
	l.timers.recall(&l.queue)
	if stays {
		l.queue.sendBack(&l.out)
		l.changes.refuse(0, NoMaster, &l.out)
		return
	}
	l.leaving = true
	l.queue.refuseAll(Stopping, &l.out)
	l.changes.refuse(0, Stopping, &l.out)
}

// Resume lets the node take up work as master again, unless it was told meanwhile to stop for good.
func (l *Log) Resume() { l.stopping = l.leaving }

// Idle reports whether no write is in flight here, or waits for the master's answer.
func (l *Log) Idle() bool {
	return len(l.batches.inFlight) == 0 && len(l.batches.applied) == 0 && l.forwards.open == 0
}
