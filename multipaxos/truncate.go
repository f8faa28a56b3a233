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

// beyondTail returns the slot through which entries are below the tail: the newest KeepEntries of those that the state
// database has, and not more than KeepBytes. While space is short the tail is short too. It is
// there for members that are a moment behind: they would need a snapshot otherwise.
func (a *acceptor) beyondTail() Slot {
	entries, bytes := Slot(a.cfg.KeepEntries), a.cfg.KeepBytes
	if a.space.short {
		entries /= shortTail
		bytes /= shortTail
	}
	t := a.stateDB - min(a.stateDB, entries)
	if a.cfg.KeepBytes > 0 {
		t = max(t, a.log.tail.excess(a.stateDB, bytes))
	}
	return t
}

// shortTail is the part of the tail that is kept while space is short.
const shortTail = 64
