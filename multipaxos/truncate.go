package multipaxos

// checkpointed is told that the state database holds everything through slot s. If it is ahead of the chosen mark, the
// mark moves: what is in the state database was chosen. If even the entries are missing here, the log counts as
// truncated through s, so that no promise vouches for slots it cannot report.
func (a *acceptor) checkpointed(s Slot) {
	for a.chosen < s && a.log.at(a.chosen+1) != nil {
		a.chosen++
	}
	if a.chosen < s {
		a.log.truncate(s)
		a.writes.persist().Truncate = s
		a.chosen, a.synced = s, max(a.synced, s)
	}
}

// truncate deletes a bounded number of entries through slot all, which every member has in its state database, but for
// the newest KeepEntries of them, unless space is short.
func (a *acceptor) truncate(all Slot) {
	keep := a.cfg.KeepEntries
	if a.space.short {
		keep = 0
	}
	if uint64(all) <= keep {
		return
	}
	t := min(all-Slot(keep), a.log.truncated+maxTruncate)
	if t <= a.log.truncated {
		return
	}
	a.log.truncate(t)
	a.writes.persist().Truncate = t
}
