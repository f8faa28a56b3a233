package storage

// Stats are counts since Open, and what is pending now.
type Stats struct {
	JournalSyncs   uint64 // commits that went through the journal
	JournalWaits   uint64 // times that one of them waited for space in it
	Flushes        uint64 // transactions that moved records to log.db, or a commit too large for the journal
	FlushedEntries uint64 // entries written by them
	Replayed       uint64 // records that Open found in the journal and not in log.db
	CutOff         bool   // Open found a record behind them that was never whole, and dropped it
	PendingBytes   int64  // of the journal that log.db does not have
	Resumed        uint64 // checkpoints that a crash had cut off between two parts, and of which Open made the rest
	ScrubbedPages  uint64 // pages of state.db that Scrub has passed
	Recounts       uint64 // times that Recount has found the digest to be that of the records
	GivenBack      uint64 // bytes of state.db that GiveBack has given back to the file system
	Installed      uint64 // slot of the snapshot that Open put in the place of the state database; 0: none
}

// Stats returns the counts. It is cheap and safe for concurrent use.
func (s *Store) Stats() Stats {
	log := s.log.Stats()
	db := s.state.Stats()
	return Stats{
		JournalSyncs: log.JournalSyncs, JournalWaits: log.JournalWaits, Flushes: log.Flushes,
		FlushedEntries: log.FlushedEntries, Replayed: log.Replayed, CutOff: log.CutOff, PendingBytes: log.PendingBytes,
		Resumed: db.Resumed, ScrubbedPages: db.ScrubbedPages,
		Recounts: db.Recounts, Installed: uint64(s.installed), GivenBack: db.GivenBack,
	}
}
