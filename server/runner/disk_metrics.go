package runner

import (
	"time"

	"tenure/server/metrics"
	"tenure/storage"
)

// registerGauges registers what is read when somebody asks for it.
func (d *Disk) registerGauges() {
	counter := func(name, help string, read func(storage.Stats) uint64) {
		metrics.CounterFunc(d.cfg.Registry, name, help, func() float64 { return float64(read(d.cfg.Store.Stats())) })
	}
	counter("journal_syncs_total", "Commits that became durable by a sync of the journal.",
		func(s storage.Stats) uint64 { return s.JournalSyncs })
	counter("journal_waits_total", "Commits that waited for space in the journal.",
		func(s storage.Stats) uint64 { return s.JournalWaits })
	counter("journal_flushes_total", "Transactions that moved commits to log.db.",
		func(s storage.Stats) uint64 { return s.Flushes })
	counter("disk_given_back_bytes_total", "Bytes of free pages that were given back to the file system.",
		func(s storage.Stats) uint64 { return s.GivenBack })
	metrics.Gauge(d.cfg.Registry, "journal_pending_bytes", "What the journal holds and log.db does not.", nil,
		func() float64 { return float64(d.cfg.Store.Stats().PendingBytes) })
	metrics.CounterFunc(d.cfg.Registry, "scrub_passes_total",
		"Times that state.db was read whole and found to be what was written; anything else ends the node.",
		func() float64 { return float64(d.cfg.Store.Stats().Recounts) })
	metrics.Gauge(d.cfg.Registry, "scrub_finished_timestamp_seconds",
		"When state.db was last read whole and found right, in seconds since 1970; 0 if it was not in this run.", nil,
		func() float64 { return float64(d.scrubbed.Load()) / 1e9 })
	metrics.Gauge(d.cfg.Registry, "scrub_seconds", "How long it took to read state.db whole, the last time.", nil,
		func() float64 { return time.Duration(d.scrubTook.Load()).Seconds() })
	gauge := func(name, help string, read func(storage.Usage) int64) {
		metrics.Gauge(d.cfg.Registry, name, help, nil, func() float64 { return float64(read(d.cfg.Store.Usage())) })
	}
	gauge("disk_log_bytes", "Bytes in use in log.db, and pending for it.",
		func(u storage.Usage) int64 { return u.LogBytes })
	gauge("disk_state_bytes", "Size of state.db.", func(u storage.Usage) int64 { return u.StateBytes })
	gauge("disk_reserve_bytes", "Space at which this node counts as full.",
		func(u storage.Usage) int64 { return u.ReserveBytes })
	gauge("disk_held_bytes", "Space that the reserve file holds: it is not free for others.",
		func(u storage.Usage) int64 { return u.HeldBytes })
	gauge("disk_free_bytes", "Free space of the data directory's file system.",
		func(u storage.Usage) int64 { return u.FreeBytes })
}
