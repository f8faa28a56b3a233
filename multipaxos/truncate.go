package multipaxos

// checkpointed is told that the state database holds everything through slot s. If it is ahead of the chosen mark, the
// mark moves: what is in the state database was chosen. If even the entries are missing here, the log counts as
// truncated through s, so that no promise vouches for slots it cannot report.
func (a *acceptor) checkpointed(s Slot) {
	for a.chosen < s && a.log.at(a.chosen+1) != nil {
		a.chosen++
	}
	a.stateDB = max(a.stateDB, s)
	if a.chosen < s {
		a.log.truncate(s)
		a.writes.persist().Truncate = s
		a.chosen, a.synced = s, max(a.synced, s)
	}
}

// truncate deletes a bounded number of entries that the state database has. It keeps the tail for members that lag, and
// pinned entries.
func (a *acceptor) truncate() {
	t := min(a.beyondTail(), a.log.truncated+maxTruncate, a.pin)
	if t <= a.log.truncated {
		return
	}
	a.log.truncate(t)
	a.writes.persist().Truncate = t
}

// beyondTail returns the slot through which entries are below the tail. The tail is there for members that lag: they
// would need a snapshot otherwise. It is short while space is short, and near while all members have applied the log
// through it.
func (a *acceptor) beyondTail() Slot {
	if a.space.short {
		return a.below(shortTail)
	}
	return max(a.below(1), min(a.below(nearTail), a.allHave))
}

// below returns the slot through which entries are below a part of the longest tail. That is the newest KeepEntries of
// those that the state database has, and not more than KeepBytes.
func (a *acceptor) below(part int) Slot {
	t := a.stateDB - min(a.stateDB, Slot(a.cfg.KeepEntries)/Slot(part))
	if a.cfg.KeepBytes > 0 {
		t = max(t, a.log.tail.excess(a.stateDB, a.cfg.KeepBytes/part))
	}
	return t
}

// Which part of the longest tail is kept: while space is short, and while all members have the log. One that restarts,
// or whose messages are a moment late, finds what it lacks in a near tail.
const (
	shortTail = 64
	nearTail  = 8
)
